package setting

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// maxCached bounds the cache, in workspaces (least recently used out).
const maxCached = 4096

// Cache has the settings of workspaces as claims last read them. Each claim reads the version
// with its agent, so that a change holds for the next claim of every server.
type Cache struct {
	known *lru.Cache[ids.ID, Present]
}

// Present is a workspace's settings at one version.
type Present struct {
	Settings
	weights map[ids.ID]int
	version int64
}

// Weight returns a product's share of what is given out.
func (p Present) Weight(product ids.ID) int {
	if n, other := p.weights[product]; other {
		return n
	}
	return 1
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	known, err := lru.New[ids.ID, Present](maxCached)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &Cache{known}
}

// none are the settings of a workspace without a row.
var none = Present{Settings: Default()}

// Of returns the settings of a workspace that have a version, 0 where it has none of its own. It
// reads them where the cache has another version.
func (c *Cache) Of(ctx context.Context, tx db.Tx, workspace ids.ID, version int64) (Present, error) {
	if version == 0 {
		return none, nil
	}
	if p, known := c.known.Get(workspace); known && p.version == version {
		return p, nil
	}
	p, err := loadTx(ctx, tx, workspace)
	if err == nil {
		c.known.Add(workspace, p)
	}
	return p, err
}
