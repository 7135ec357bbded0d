package views

// productMeaning is what a setting of a product does, in a sentence.
type productMeaning struct{ name, text string }

// productMeanings are the settings in the order of the list's columns.
var productMeanings = []productMeaning{
	{"Repos", meansRepos},
	{"Review", meansReview},
	{"Jobs per repo", meansOneJob},
	{"Review limit", meansLimit},
	{"Paused", meansPaused},
}

const (
	meansRepos  = "A new job in one of these repos belongs to this product; a repo belongs to one product at most."
	meansReview = "A person approves what an agent hands in before the job is done; a job may say otherwise."
	meansOneJob = "One job of a repo is ready or in work at a time; the next one waits until that is handed in or ends."
	meansLimit  = "While so many of its jobs wait for a decision, agents get no new ones."
	meansPaused = "Agents get no new jobs of a paused product; what they work on goes on."
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
