package fault

// Code names a kind of refusal. Codes are part of the API: they are never
// renamed and never reused.
type Code string

// The catalogue. Each code has one title, in titles; handlers/status has its HTTP
// status.
const (
	Malformed            Code = "malformed"
	Validation           Code = "validation_failed"
	ProofRefused         Code = "proof_refused"
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
	OtherOrder           Code = "other_order"
	InUse                Code = "in_use"
	AlreadyExists        Code = "already_exists"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	NotClaimable         Code = "not_claimable"
	StaleEpoch           Code = "stale_epoch"
	StepGap              Code = "step_gap"
	LeaseExpired         Code = "lease_expired"
	AlreadyEnded         Code = "already_ended"
	CommentUnknown       Code = "comment_unknown"
	CommentElsewhere     Code = "comment_of_other_job"
	CommentAnswered      Code = "comment_answered"
	Cancelled            Code = "cancelled"
	Paused               Code = "paused"
	Superseded           Code = "superseded"
	FactoryElsewhere     Code = "factory_elsewhere"
	OverBudget           Code = "over_budget"
	StorageFull          Code = "storage_full"
	TooLarge             Code = "too_large"
	UnsupportedMedia     Code = "unsupported_media_type"
	TooMany              Code = "rate_limited"
	Unavailable          Code = "unavailable"
	Internal             Code = "internal"
)

var titles = map[Code]string{
	Malformed:            "The request could not be read",
	Validation:           "Some fields need another value",
	ProofRefused:         "A proof does not fit the work",
	Unauthenticated:      "Credentials are needed",
	TokenInvalid:         "The token is not known",
	TokenExpired:         "The token has expired",
	TokenRevoked:         "The token was revoked",
	Forbidden:            "Not allowed",
	NotFound:             "Not found",
	MethodNotAllowed:     "Method not allowed",
	HostNotAllowed:       "The server has another name",
	ClientTooOld:         "The client is too old",
	VersionConflict:      "Changed by somebody else",
	InvalidTransition:    "Not possible in this status",
	DependencyCycle:      "The dependencies form a cycle",
	ChildrenOpen:         "Children of the job are open",
	OtherOrder:           "The jobs do not stand in one order",
	InUse:                "Still in use",
	AlreadyExists:        "Already exists",
	IdempotencyKeyReused: "The idempotency key belongs to another request",
	NotClaimable:         "The job cannot be claimed",
	StaleEpoch:           "The lease belongs to a later epoch",
	StepGap:              "Steps before these are missing",
	LeaseExpired:         "The lease has ended",
	AlreadyEnded:         "The agent has ended the lease",
	CommentUnknown:       "There is no such comment",
	CommentElsewhere:     "The comment is about another job",
	CommentAnswered:      "The comment was answered before",
	Cancelled:            "The job was cancelled",
	Paused:               "The job was paused",
	Superseded:           "The agent was started again elsewhere",
	FactoryElsewhere:     "The factory lives on another host",
	OverBudget:           "Not enough is free",
	StorageFull:          "No room is left",
	TooLarge:             "The body is too large",
	UnsupportedMedia:     "The body is not JSON",
	TooMany:              "Too many requests",
	Unavailable:          "Not available right now",
	Internal:             "Something went wrong",
}

// Title returns the code in a few words; an unknown code has Internal's.
func (c Code) Title() string {
	if title, ok := titles[c]; ok {
		return title
	}
	return titles[Internal]
}

// Conflict reports whether the request was in order but does not fit the present
// state: asking again can help, sending the same again cannot.
func (c Code) Conflict() bool {
	switch c {
	case VersionConflict, InvalidTransition, DependencyCycle, ChildrenOpen, OtherOrder, InUse, AlreadyExists, NotClaimable,
		StaleEpoch, StepGap, LeaseExpired,
		AlreadyEnded, CommentAnswered, Cancelled, Paused, Superseded, FactoryElsewhere, OverBudget, StorageFull:
		return true
	default:
		return false
	}
}

// Codes lists the whole catalogue, for the documentation and its test.
func Codes() []Code {
	list := make([]Code, 0, len(titles))
	for c := range titles {
		list = append(list, c)
	}
	return list
}
