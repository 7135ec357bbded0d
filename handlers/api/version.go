package api

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	// MinClient is the lowest version of a client that says its version and is answered.
	MinClient = "1.0.0"
	// clientHeader is where a client says its name and its version.
	clientHeader = "Fleetboard-Client"
)

// Build is what runs.
type Build struct {
	Server string // version of the program
	Schema int64  // of the database
}

// clientForm is name/version, the version being one to three numbers and what may
// follow them.
var clientForm = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]{0,63})/([0-9]{1,9}(?:\.[0-9]{1,9}){0,2})(?:[-+][0-9A-Za-z.+-]{0,64})?$`)

// metaHandlers answer the calls about the API itself.
type metaHandlers struct {
	*Deps
	version string // of the description
}

// GetVersion says what runs, and which clients it answers.
func (s *metaHandlers) GetVersion(context.Context, GetVersionRequestObject) (GetVersionResponseObject, error) {
	return GetVersion200JSONResponse{Server: s.Build.Server, API: s.version, Schema: s.Build.Schema, MinClient: MinClient}, nil
}

// checkClient refuses a client that says it is too old, whatever it calls.
func (s *Server) checkClient(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		said := c.Request().Header.Get(clientHeader)
		if said == "" {
			return next(c)
		}
		parts := clientForm.FindStringSubmatch(said)
		if parts == nil {
			return fault.New(fault.Malformed, "The header %s must be name/version, such as my-agent/%s.", clientHeader, MinClient)
		}
		name, version := parts[1], parts[2]
		if older(version, MinClient) {
			return fault.New(fault.ClientTooOld, "%s %s is too old for this server. Install version %s of it, or a later one.",
				name, version, MinClient).With("client", said).With("min_client", MinClient)
		}
		return next(c)
	}
}

// older reports whether a version comes before another; missing numbers are 0.
func older(version, other string) bool {
	a, b := strings.Split(version, "."), strings.Split(other, ".")
	for i := range max(len(a), len(b)) {
		if m, n := numberAt(a, i), numberAt(b, i); m != n {
			return m < n
		}
	}
	return false
}

func numberAt(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // digits, as clientForm has it
	return n
}
