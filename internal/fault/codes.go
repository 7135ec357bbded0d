package fault

import "net/http"

// Code names a kind of refusal. Codes are part of the API: they are never
// renamed and never reused.
type Code string

// The catalogue. Each code has one HTTP status and one title, in catalogue.
const (
	Malformed            Code = "malformed"
	Validation           Code = "validation_failed"
	Unauthenticated      Code = "unauthenticated"
	TokenInvalid         Code = "token_invalid"
	TokenExpired         Code = "token_expired"
	TokenRevoked         Code = "token_revoked"
	Forbidden            Code = "forbidden"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	HostNotAllowed       Code = "host_not_allowed"
	ClientTooOld         Code = "client_too_old"
	VersionConflict      Code = "version_conflict"
	InvalidTransition    Code = "invalid_transition"
	DependencyCycle      Code = "dependency_cycle"
	ChildrenOpen         Code = "children_open"
	InUse                Code = "in_use"
	AlreadyExists        Code = "already_exists"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	NotClaimable         Code = "not_claimable"
	StaleEpoch           Code = "stale_epoch"
	LeaseExpired         Code = "lease_expired"
	AlreadyEnded         Code = "already_ended"
	Cancelled            Code = "cancelled"
	Paused               Code = "paused"
	Superseded           Code = "superseded"
	TooLarge             Code = "too_large"
	UnsupportedMedia     Code = "unsupported_media_type"
	TooMany              Code = "rate_limited"
	Unavailable          Code = "unavailable"
	Internal             Code = "internal"
)

// Entry is what the catalogue knows about a code.
type Entry struct {
	Status int
	Title  string
}

var catalogue = map[Code]Entry{
	Malformed:            {http.StatusBadRequest, "The request could not be read"},
	Validation:           {http.StatusUnprocessableEntity, "Some fields need another value"},
	Unauthenticated:      {http.StatusUnauthorized, "Credentials are needed"},
	TokenInvalid:         {http.StatusUnauthorized, "The token is not known"},
	TokenExpired:         {http.StatusUnauthorized, "The token has expired"},
	TokenRevoked:         {http.StatusUnauthorized, "The token was revoked"},
	Forbidden:            {http.StatusForbidden, "Not allowed"},
	NotFound:             {http.StatusNotFound, "Not found"},
	MethodNotAllowed:     {http.StatusMethodNotAllowed, "Method not allowed"},
	HostNotAllowed:       {http.StatusMisdirectedRequest, "The server has another name"},
	ClientTooOld:         {http.StatusUpgradeRequired, "The client is too old"},
	VersionConflict:      {http.StatusConflict, "Changed by somebody else"},
	InvalidTransition:    {http.StatusConflict, "Not possible in this status"},
	DependencyCycle:      {http.StatusConflict, "The dependencies form a cycle"},
	ChildrenOpen:         {http.StatusConflict, "Children of the job are open"},
	InUse:                {http.StatusConflict, "Still in use"},
	AlreadyExists:        {http.StatusConflict, "Already exists"},
	IdempotencyKeyReused: {http.StatusUnprocessableEntity, "The idempotency key belongs to another request"},
	NotClaimable:         {http.StatusConflict, "The job cannot be claimed"},
	StaleEpoch:           {http.StatusConflict, "The lease belongs to a later epoch"},
	LeaseExpired:         {http.StatusConflict, "The lease has ended"},
	AlreadyEnded:         {http.StatusConflict, "The agent has ended the lease"},
	Cancelled:            {http.StatusConflict, "The job was cancelled"},
	Paused:               {http.StatusConflict, "The job was paused"},
	Superseded:           {http.StatusConflict, "The agent was started again elsewhere"},
	TooLarge:             {http.StatusRequestEntityTooLarge, "The body is too large"},
	UnsupportedMedia:     {http.StatusUnsupportedMediaType, "The body is not JSON"},
	TooMany:              {http.StatusTooManyRequests, "Too many requests"},
	Unavailable:          {http.StatusServiceUnavailable, "Not available right now"},
	Internal:             {http.StatusInternalServerError, "Something went wrong"},
}

// Entry returns the code's status and title; an unknown code is Internal's.
func (c Code) Entry() Entry {
	if e, ok := catalogue[c]; ok {
		return e
	}
	return catalogue[Internal]
}

// Codes lists the whole catalogue, for the documentation and its test.
func Codes() []Code {
	list := make([]Code, 0, len(catalogue))
	for c := range catalogue {
		list = append(list, c)
	}
	return list
}
