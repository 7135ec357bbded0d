package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// ProductsPage lists what the workspace's products allow.
type ProductsPage struct {
	Shell    layout.Shell
	Products Products
}

// Products is the list.
type Products struct {
	List []Product
	// CanManage shows what changes a product.
	CanManage bool
	// Only is set where nobody has made a product yet.
	Only bool
}

// Product is one row of the list: its settings in words.
type Product struct {
	Name      string
	BoardURL  string // its jobs
	Repos     []string
	Review    string // "A person approves"
	PerRepo   string // "One at a time"
	Limit     string // "2 of 5 in review"
	LimitTone ui.Tone
	Paused    bool
	EditURL   string
	PauseURL  string // "" for one that is paused
	ResumeURL string // "" for one that is not
}

// ProductPage is the form of one product.
type ProductPage struct {
	Shell layout.Shell
	Form  ProductForm
}

// ProductForm is the form with what was typed, so that a refused one comes back
// as it was.
type ProductForm struct {
	ui.Form

	New      bool
	Name     string // "" for a new one
	SaveURL  string
	BoardURL string
	Models   []ModelRow
	// OtherModels are those of engines without a row: "command:large=opus".
	OtherModels []string
	// Preview is what the policy would have approved, nil where nobody asks.
	Preview *PolicyPreview
	// PreviewURL leads to it, "" for a new one.
	PreviewURL string
	InReview   string       // "2 jobs are in review now.", "" for a new one
	Ways       []ProductWay // of an existing one
	RepoWays   []ProductWay // a repo's jobs each
	Paused     bool
	PauseURL   string // of an existing one that is not paused
	ResumeURL  string // of one that is
	Delete     *ui.Action
	Stays      string // why it cannot be deleted, "" where it may be
}

// ModelRow is an engine in the table of models, with the names of its fields, the smallest tier first.
type ModelRow struct {
	Engine string
	Fields []string
}

// PolicyPreview is what the policy would have decided, in words.
type PolicyPreview struct {
	Text string // "2 of 40 would have been approved"
	Held []string
	Rows []PolicyPreviewRow
}

// PolicyPreviewRow is what it would have decided about work.
type PolicyPreviewRow struct{ Job, URL, Title, Policy, Decided, Why string }

// ProductWay leads from a product to what belongs to it.
type ProductWay struct{ Icon, Label, URL string }

// productMeaning is what a setting of a product does, in a sentence.
type productMeaning struct{ name, text string }

// productMeanings are the settings in the order of the list's columns.
var productMeanings = []productMeaning{
	{"Repos", meansRepos},
	{"Review", meansReview},
	{"Jobs per repo", meansSerialise},
	{"Review limit", meansLimit},
	{"Paused", meansPaused},
}

const (
	meansRepos     = "A new job in one of these repos belongs to this product; a repo belongs to one product at most."
	meansReview    = "A person approves what an agent hands in before the job is done; a job may say otherwise."
	meansSerialise = "Which of them may be ready or in work at once; the others wait until those are handed in or end. Paths are what " +
		"jobs say that they touch; a job that says nothing may touch all."
	meansMergeBy = "Exactly what was approved is merged. A conflict sends it back to review with the reason. " +
		"Pull requests want a factory that has a token of the forge."
	meansMergeMethod = "Fast-forward only refuses work that began before the branch moved on."
	meansMergeInto   = "At the origin of the repo."
	meansMergeChecks = "It must pass in what came out of the merge, before that is pushed: make test. " +
		"Pull requests have the checks of the forge instead."
	meansProof = "Run in the commit that an agent hands in, before a person looks at it. It writes files into the folder " +
		"$FLEETBOARD_PROOF: 1.png or 1-report.txt proves the first acceptance criterion. Where it fails, the work is " +
		"handed in all the same."
	meansRetention = "So many days after a job has ended, its branches at the origin are removed: where its work is merged, or it " +
		"ended without any. 0 keeps them."
	meansModels = "Engines run its jobs with these models, by the size that a job is worth. Where a field is empty, " +
		"the worker chooses: by its own table, or its default."
	meansVerify = "Work that waits for a review and names a commit gets a job of its own, in which another agent looks at it " +
		"before a person decides."
	meansDistinct = "Nobody verifies who worked on the job; by model or provider nobody who runs the same either, " +
		"nor an agent that does not say what it runs."
	meansAutoApprove = "Work is approved as soon as every limit lets it pass: its size, its paths, no finding above minor, its checks " +
		"green on the commit. What cannot be read whole, and whatever a person has spoken about, waits for a person."
	meansAutoBy = "An author could hand in another patch than its commit holds; a verifier's program reads the commit itself. " +
		"Where work is verified, the policy waits for the verdict."
	meansDenyPaths = "infra or *.sql anywhere, db/schema or db/**/x.go from the root; and all below. What git, forges and agents " +
		"obey is always denied."
	meansRounds    = "So often a verifier may send the work of a job back to its agent; then a person decides."
	meansVerifiers = "What a factory or agent must offer to verify, beside the repo."
	meansLimit     = "While so many of its jobs wait for a decision, agents get no new ones."
	meansPaused    = "Agents get no new jobs of a paused product; what they work on goes on."
)

func (f ProductForm) heading() string {
	if f.New {
		return "New product"
	}
	return f.Name
}

func (f ProductForm) submit() string {
	if f.New {
		return "Create product"
	}
	return "Save product"
}

// joinWords puts sentences one after the other, and leaves out what is empty.
func joinWords(first, second string) string {
	if second == "" {
		return first
	}
	return first + " " + second
}
