package web

import (
	"fmt"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// MaxForm is the largest size of a form, in bytes.
const MaxForm = 64 << 10

// RequestID returns the server's id of the request.
func RequestID(c echo.Context) string {
	return c.Response().Header().Get(echo.HeaderXRequestID)
}

// PanicError is a panic on its way to HandleError.
type PanicError struct {
	Value any
	Stack []byte
}

func (p PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// TooLarge returns the refusal of a form beyond MaxForm.
func TooLarge(cause error) error {
	return fault.Wrap(cause, fault.TooLarge, "The form is too large; %d KB is the limit.", MaxForm>>10)
}

const whoKey = "who"

// SetWho stores the caller in the context, for Principal.
func SetWho(c echo.Context, who tenancy.Principal) { c.Set(whoKey, who) }

// Principal returns the caller whom the guard let in; false before the guard and on public routes.
func Principal(c echo.Context) (tenancy.Principal, bool) {
	who, ok := c.Get(whoKey).(tenancy.Principal)
	return who, ok
}
