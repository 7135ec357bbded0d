package agents

// MaxWhy is how long a reason may be, in characters.
const MaxWhy = maxWhy
