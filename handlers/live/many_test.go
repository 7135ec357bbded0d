package live_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// picture is what a browser holds of a board: of each column the cards in their
// order, and the digest of each.
type picture struct {
	columns map[string][]string
	digests map[string]string
}

var (
	sections = regexp.MustCompile(`(?s)<section class="col" id="col-(\w+)".*?</section>`)
	items    = regexp.MustCompile(`<li (?:class="[^"]*" )?id="(card-[^"]+)"(?: data-same="([^"]*)"(?: data-was="([^"]*)")?|[^>]*data-digest="([^"]*)")`)
)

// told is what a page or a message says of cards. All who see the same get the
// same text, which is read once.
type told struct {
	names   []string // of the columns, in their order
	columns [][][]string
	single  [][]string // cards that are sent by themselves
}

var readOnce sync.Map // text to told

func tellingOf(html string) told {
	if known, ok := readOnce.Load(html); ok {
		return known.(told) // nothing else is in it
	}
	m := told{single: items.FindAllStringSubmatch(sections.ReplaceAllString(html, ""), -1)}
	for _, s := range sections.FindAllStringSubmatch(html, -1) {
		m.names, m.columns = append(m.names, s[1]), append(m.columns, items.FindAllStringSubmatch(s[0], -1))
	}
	readOnce.Store(html, m)
	return m
}

// apply takes in a page or a message, as the browser's morph does: an empty place
// leaves the card that is there as it is.
func (p *picture) apply(html string) {
	m := tellingOf(html)
	for i, list := range m.columns {
		column := m.names[i]
		p.columns[column] = nil
		for _, item := range list {
			p.columns[column] = append(p.columns[column], item[1])
			switch {
			case item[2] == "":
				p.digests[item[1]] = item[4]
			case item[3] != "" && item[3] == p.digests[item[1]]:
				p.digests[item[1]] = item[2]
			case p.digests[item[1]] != item[2]:
				// A reader who came while a message was under way has caught up beyond it. The
				// browser waits for the card and fetches its page if none comes.
				delete(p.digests, item[1])
			}
		}
	}
	for _, item := range m.single {
		if p.digests[item[1]] != "" {
			p.digests[item[1]] = item[4]
		}
	}
	shown := map[string]bool{}
	for _, list := range p.columns {
		for _, id := range list {
			shown[id] = true
		}
	}
	maps.DeleteFunc(p.digests, func(id, _ string) bool { return !shown[id] })
}

func (p *picture) equal(o *picture) bool {
	return maps.EqualFunc(p.columns, o.columns, slices.Equal) && maps.Equal(p.digests, o.digests)
}

func newPicture(html string) *picture {
	p := &picture{columns: map[string][]string{}, digests: map[string]string{}}
	p.apply(html)
	return p
}

// openPicture is a board in a browser and its stream.
type openPicture struct {
	mu       sync.Mutex
	role     int
	now      *picture
	messages int
	whole    int // bytes of all messages
	wrong    error
}

func (o *openPicture) follow(s *handlertest.Stream) {
	for {
		m, err := s.Next()
		if err != nil {
			return
		}
		o.mu.Lock()
		o.messages++
		o.whole += len(m.Data)
		if m.Event == "reset" {
			o.wrong = fmt.Errorf("told to fetch itself again")
		} else {
			o.now.apply(m.Data)
		}
		o.mu.Unlock()
	}
}

// Two hundred boards of people who may write and of others, and a burst of
// changes: each of them ends at what a new page shows, and gets messages a few times a
// second, not once for each change.
func TestEveryOpenBoardEndsAtTheTrueState(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	var batch []jobs.New
	for i := range 300 {
		batch = append(batch, jobs.New{Spec: jobs.Spec{Title: fmt.Sprint("Job ", i)}})
	}
	if _, err := d.Jobs.Create(t.Context(), d.Owner, nil, batch...); err != nil {
		t.Fatal(err)
	}
	base := d.Listen(t)
	var all []*openPicture
	roles := []tenancy.Role{tenancy.RoleMember, tenancy.RoleViewer}
	for i := range 200 / live.StreamsPerPerson {
		reader := d.As(roles[i%2])
		page := handlertest.Read(t, reader.Get("/board"), http.StatusOK)
		target := strings.ReplaceAll(handlertest.LiveTarget.FindStringSubmatch(page)[1], "&amp;", "&")
		for range live.StreamsPerPerson {
			o := &openPicture{role: i % 2, now: newPicture(page)}
			go o.follow(reader.Stream(t, base+target, ""))
			all = append(all, o)
		}
	}
	began := time.Now()
	changes := d.Burst(t)
	took := time.Since(began)
	var truths []*picture
	for _, role := range roles {
		truths = append(truths, newPicture(handlertest.Read(t, d.As(role).Get("/board"), http.StatusOK)))
	}
	deadline := time.After(handlertest.Patience)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for i, o := range all {
		truth := truths[o.role]
		for {
			o.mu.Lock()
			equal, wrong, messages := o.now.equal(truth), o.wrong, o.messages
			o.mu.Unlock()
			if wrong != nil {
				t.Fatalf("board %d: %v", i, wrong)
			}
			if equal {
				// Besides the feed's pace there are the refreshes of each second.
				if most := int(time.Since(began)/pace) + int(time.Since(began)/d.Live.Settle) + 5; messages > most {
					t.Errorf("board %d was told %d times in %v of %d changes, want %d at most", i, messages, took, changes, most)
				}
				break
			}
			select {
			case <-deadline:
				o.mu.Lock()
				defer o.mu.Unlock()
				t.Fatalf("board %d does not end at the true state: (-want +got)\n%s", i, cmp.Diff(truth.columns, o.now.columns)+cmp.Diff(truth.digests, o.now.digests))
			case <-look.C:
			}
		}
	}
	t.Logf("%d changes in %v: %d messages, %d KB for each board", changes, took, all[0].messages, all[0].whole/1000)
}

// pace is the least time between two messages of the board's feed.
const pace = 120 * time.Millisecond
