package api

import (
	"crypto/sha256"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"fleetboard/internal/idempotency"
)

const idempotencyKey = "Idempotency-Key"

// once is the key of a request that may be sent again. It stands for the operation, what
// it is about and the body. The repetition is answered with 200 and says what it is.
func (s *Server) once(c echo.Context, op operation, body []byte) *idempotency.Key {
	name := c.Request().Header.Get(idempotencyKey)
	if !op.once || name == "" {
		return nil
	}
	asked := sha256.New()
	asked.Write([]byte(op.id + "\n"))
	for _, p := range op.params {
		if p.Value.In == openapi3.ParameterInPath {
			asked.Write([]byte(c.Param(p.Value.Name) + "\n"))
		}
	}
	asked.Write(body)
	key := s.newKey(name, asked.Sum(nil))
	c.Response().Before(func() {
		if key.Replayed() && c.Response().Status < http.StatusMultipleChoices {
			c.Response().Status = http.StatusOK
			c.Response().Header().Set("Idempotent-Replayed", "true")
		}
	})
	return key
}
