package job

// Inputs are what a job's agent is given beside the description.
type Inputs struct {
	List   []Input
	Note   string // "120 in all, the first 50"
	Secret bool   // some of them are
}

// Input is one of them. Of a secret one the value is a placeholder.
type Input struct {
	Name, Value string
	Secret      bool
}
