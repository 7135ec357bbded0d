package job

import (
	"encoding/json"

	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/views/links"
)

// FindPatch returns the blob with the whole patch that a result names, if it does.
func FindPatch(result json.RawMessage) (sum blobs.Sum, named bool) {
	var said struct {
		Blob string `json:"patch_blob"`
	}
	if json.Unmarshal(result, &said) != nil {
		return sum, false
	}
	sum, err := blobs.ParseSum(said.Blob)
	return sum, err == nil
}

// PatchURL is where the whole patch of a job is, "" where there is none.
func PatchURL(key string, result json.RawMessage) string {
	if _, named := FindPatch(result); !named {
		return ""
	}
	return links.ReviewPatch(key)
}
