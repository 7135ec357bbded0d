package evidence

import "encoding/json"

// Limits of what shows that criteria are met; texts in characters.
const (
	MaxProofs     = 50
	MaxProofTitle = 200
	MaxProofError = 4000
)

// Proof is a content that shows that an acceptance criterion is met. It was made of a commit.
type Proof struct {
	Criterion string `json:"criterion"`       // as the job has it
	Commit    string `json:"commit"`          // the one that was handed in
	Blob      string `json:"blob"`            // the SHA-256 of the content
	Title     string `json:"title,omitempty"` // such as the name of a file
}

// Proofs are what a result has of them.
type Proofs struct {
	List  []Proof `json:"proofs"`
	Error string  `json:"proof_error"` // what kept proofs from being made, "" for nothing
}

// ReadProofs returns the proofs of a result, none where they cannot be read.
func ReadProofs(result json.RawMessage) (p Proofs) {
	if len(result) == 0 || json.Unmarshal(result, &p) != nil {
		return Proofs{}
	}
	return p
}
