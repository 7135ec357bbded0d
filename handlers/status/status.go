// Package status gives refusals their HTTP status, for pages and API alike.
package status

import (
	"net/http"

	"github.com/fleetboard/fleetboard/internal/fault"
)

var codes = map[fault.Code]int{
	fault.Malformed:            http.StatusBadRequest,
	fault.Validation:           http.StatusUnprocessableEntity,
	fault.ProofRefused:         http.StatusUnprocessableEntity,
	fault.Unauthenticated:      http.StatusUnauthorized,
	fault.TokenInvalid:         http.StatusUnauthorized,
	fault.TokenExpired:         http.StatusUnauthorized,
	fault.TokenRevoked:         http.StatusUnauthorized,
	fault.Forbidden:            http.StatusForbidden,
	fault.NotFound:             http.StatusNotFound,
	fault.MethodNotAllowed:     http.StatusMethodNotAllowed,
	fault.HostNotAllowed:       http.StatusMisdirectedRequest,
	fault.ClientTooOld:         http.StatusUpgradeRequired,
	fault.VersionConflict:      http.StatusConflict,
	fault.InvalidTransition:    http.StatusConflict,
	fault.DependencyCycle:      http.StatusConflict,
	fault.ChildrenOpen:         http.StatusConflict,
	fault.OtherOrder:           http.StatusConflict,
	fault.InUse:                http.StatusConflict,
	fault.AlreadyExists:        http.StatusConflict,
	fault.IdempotencyKeyReused: http.StatusUnprocessableEntity,
	fault.NotClaimable:         http.StatusConflict,
	fault.StaleEpoch:           http.StatusConflict,
	fault.StepGap:              http.StatusConflict,
	fault.LeaseExpired:         http.StatusConflict,
	fault.AlreadyEnded:         http.StatusConflict,
	fault.CommentUnknown:       http.StatusUnprocessableEntity,
	fault.CommentElsewhere:     http.StatusUnprocessableEntity,
	fault.CommentAnswered:      http.StatusConflict,
	fault.Cancelled:            http.StatusConflict,
	fault.Paused:               http.StatusConflict,
	fault.Superseded:           http.StatusConflict,
	fault.FactoryElsewhere:     http.StatusConflict,
	fault.OverBudget:           http.StatusConflict,
	fault.StorageFull:          http.StatusConflict,
	fault.TooLarge:             http.StatusRequestEntityTooLarge,
	fault.UnsupportedMedia:     http.StatusUnsupportedMediaType,
	fault.TooMany:              http.StatusTooManyRequests,
	fault.Unavailable:          http.StatusServiceUnavailable,
	fault.Internal:             http.StatusInternalServerError,
}

// Of returns the HTTP status of a code; an unknown code has Internal's.
func Of(code fault.Code) int {
	if status, ok := codes[code]; ok {
		return status
	}
	return codes[fault.Internal]
}

// OfError returns the HTTP status of any error.
func OfError(err error) int { return Of(fault.From(err).Code) }
