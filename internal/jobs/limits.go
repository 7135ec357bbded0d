package jobs

// Limits of a job and of a product: characters of a text, entries of a list, ranges of a
// number. Forms take them from here; TestLimitsAgree of handlers/api holds openapi.yaml and
// the CHECKs of the schema to them.
const (
	MaxKey            = 64
	MaxTitle          = 200
	MaxBody           = 100_000
	MaxName           = 64 // of a kind, a product, a factory, a phase or a tag
	MaxRepo           = 128
	MaxCapabilities   = 32
	MaxTags           = 20
	MaxAcceptance     = 50
	MaxCriterion      = 500
	MaxDependencies   = 100
	MaxSecrets        = 50
	MaxSecretKey      = 128
	MaxComplexity     = 32
	MaxIdempotencyKey = 255
	MaxPriority       = 10 // from 0
	MaxTries          = 100
	MaxBackoffSeconds = 24 * 60 * 60
	MinEstimate       = 1 // minutes
	MaxEstimate       = 100_000
	MinTokenBudget    = 1
	MinBudgetNanos    = 1
	MaxBudgetNanos    = 1_000_000_000_000_000_000 // a billion dollars
	MinComplexity     = 1
	MaxComplexityStep = 5
	// MaxFiles is how many globs of files a job may declare, MaxFilesTouched how many
	// files its agent may name, MaxFile how many characters each of them has.
	MaxFiles        = 100
	MaxFilesTouched = 1000
	MaxFile         = 512
	// MaxCommit and MaxURL bound what is said of merged work, in characters.
	MaxCommit = 100
	MaxURL    = 2000
	// MaxMergeInto and MaxMergeChecks bound a product's branch and command for merges, in
	// characters.
	MaxMergeInto   = 200
	MaxMergeChecks = 1000
	// MaxFiledPerAttempt is how many jobs an agent may file while it holds one lease. Of the
	// jobs that come of one root, each found while another one was worked on: MaxFiledDepth
	// is how many steps the last may be away, MaxFiledOpen how many may be open at a time,
	// MaxFiledPerHour how many may come in an hour.
	MaxFiledPerAttempt = 20
	MaxFiledDepth      = 5
	MaxFiledOpen       = 50
	MaxFiledPerHour    = 60
	// MaxBatch is how many jobs one request may create.
	MaxBatch = 1000
	// MaxRepos is how many repos a product owns.
	MaxRepos       = 200
	MinReviewLimit = 1
	MaxReviewLimit = 100_000
	// DefaultBranchRetention and MaxBranchRetention are how many days the branches of an ended
	// job stay at the origin; 0 is for ever.
	DefaultBranchRetention = 30
	MaxBranchRetention     = 3650
	// MaxReason bounds why a job is blocked, and what people write about a change, in characters.
	MaxReason = 2000
	// MaxPauseReason is how long the reason for a pause may be, in characters.
	MaxPauseReason = 2000

	// maxSecretBytes bounds the values of one job's secrets together: each text
	// that its agent writes is searched for all of them.
	maxSecretBytes = 16 << 10
)
