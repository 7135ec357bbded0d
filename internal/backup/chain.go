package backup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db/replication"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
)

// A chain is the write-ahead log of one cluster from one place on, without a gap: the folder log/ID of
// a store. It begins with a slot of the server; where the slot is gone, so is the chain's end, and
// another one begins, with a backup of its own.
const (
	chainFolder = "log/"
	stateName   = "state.json"
	slotPrefix  = "fleetboard_log_"
	// sumSize is how many characters of a SHA-256 are in the name of a file.
	sumSize = 32
)

// chainState says how far a chain goes.
type chainState struct {
	Format      int    `json:"format"`
	System      string `json:"system"`
	Timeline    uint32 `json:"timeline"`
	SegmentSize int64  `json:"segment_size"`
	From        string `json:"from"`
	// Position is up to where the log is kept, and Reached the server's time up to which everything that
	// was committed is before it.
	Position string    `json:"position"`
	Reached  time.Time `json:"reached"`
	// Ends are the ends of the workspaces' logs a moment later.
	Ends []seal.End `json:"ends"`
}

func newChain() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// readState reads how far a chain goes, and who signed that.
func readState(ctx context.Context, store Store, chain string) (s chainState, signer []byte, err error) {
	name := chainFolder + chain + "/" + stateName
	text, err := store.Get(ctx, name)
	if err != nil {
		return s, nil, err
	}
	signer, err = unsign(name, text, &s)
	return s, signer, err
}

// chainAt returns the chain of the server's log that a store has, "" where there is none.
func chainAt(ctx context.Context, url string, store Store) (string, error) {
	slots, err := replication.Slots(ctx, url, slotPrefix)
	if err != nil {
		return "", err
	}
	for _, slot := range slots {
		chain := strings.TrimPrefix(slot.Name, slotPrefix)
		if _, _, err := readState(ctx, store, chain); err == nil && !slot.Lost {
			return chain, nil
		}
	}
	return "", nil
}

// logFile is a file of a chain: a segment, or a piece of one.
type logFile struct {
	name   string
	begins replication.LSN // of the segment
	offset int64           // of the piece in it
	whole  bool
	sum    string
}

// logName names the file with a content: SEGMENT-SUM, or SEGMENT.OFFSET-SUM for a piece.
func logName(segment string, offset int64, whole bool, content []byte) string {
	if !whole {
		segment += fmt.Sprintf(".%08X", offset)
	}
	return segment + "-" + digest(content)[:sumSize]
}

func parseLogName(path string, size int64) (f logFile, err error) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	place, sum, found := strings.Cut(name, "-")
	segment, offset, piece := strings.Cut(place, ".")
	if !found || len(sum) != sumSize {
		return f, damage("%s is no file of an archived log", path)
	}
	f = logFile{name: path, whole: !piece, sum: sum}
	if piece {
		if f.offset, err = strconv.ParseInt(offset, 16, 64); err != nil {
			return f, damage("%s is no file of an archived log", path)
		}
	}
	_, f.begins, err = replication.ParseSegmentName(segment, size)
	return f, err
}

// logFiles returns the files of chains by their places, those whose names begin with CHAIN/ and more.
func logFiles(ctx context.Context, store Store, prefix string, size int64) (list []logFile, err error) {
	names, err := store.List(ctx, chainFolder+prefix)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "/"+stateName) {
			continue
		}
		f, err := parseLogName(name, size)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b logFile) int {
		if a.begins != b.begins {
			return compare(a.begins, b.begins)
		}
		return compare(a.offset, b.offset)
	})
	return list, nil
}

func compare[T replication.LSN | int64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// read reads a file, and refuses one that is not what was written; fs.ErrNotExist where it is gone.
func (f logFile) read(ctx context.Context, store Store) ([]byte, error) {
	content, err := store.Get(ctx, f.name)
	if err == nil && digest(content)[:sumSize] != f.sum {
		err = damaged(f.name)
	}
	return content, err
}
