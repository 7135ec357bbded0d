package handlers

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
	"golang.org/x/sync/errgroup"

	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// picture is what a browser holds of a board: of each column the cards in their
// order, and the version of each.
type picture struct {
	columns  map[string][]string
	versions map[string]string
}

var (
	sections = regexp.MustCompile(`(?s)<section class="col" id="col-(\w+)".*?</section>`)
	items    = regexp.MustCompile(`<li (?:class="[^"]*" )?id="(card-[^"]+)"( data-same)?(?:[^>]*data-version="(\d+)")?`)
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
		return known.(told) //nolint:forcetypeassert // nothing else is in it
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
func (p *picture) apply(html string) error {
	m := tellingOf(html)
	for i, list := range m.columns {
		column := m.names[i]
		p.columns[column] = nil
		for _, item := range list {
			p.columns[column] = append(p.columns[column], item[1])
			switch {
			case item[2] == "":
				p.versions[item[1]] = item[3]
			case p.versions[item[1]] == "":
				return fmt.Errorf("an empty place for %s, which is not there", item[1])
			}
		}
	}
	for _, item := range m.single {
		if p.versions[item[1]] != "" {
			p.versions[item[1]] = item[3]
		}
	}
	shown := map[string]bool{}
	for _, list := range p.columns {
		for _, id := range list {
			shown[id] = true
		}
	}
	maps.DeleteFunc(p.versions, func(id, _ string) bool { return !shown[id] })
	return nil
}

func (p *picture) equal(o *picture) bool {
	return maps.EqualFunc(p.columns, o.columns, slices.Equal) && maps.Equal(p.versions, o.versions)
}

func newPicture(t *testing.T, html string) *picture {
	t.Helper()
	p := &picture{columns: map[string][]string{}, versions: map[string]string{}}
	if err := p.apply(html); err != nil {
		t.Fatal(err)
	}
	return p
}

// openPicture is a board in a browser and its stream.
type openPicture struct {
	mu       sync.Mutex
	now      *picture
	messages int
	whole    int // bytes of all messages
	wrong    error
}

func (o *openPicture) follow(s *stream) {
	for {
		m, err := s.next()
		if err != nil {
			return
		}
		o.mu.Lock()
		o.messages++
		o.whole += len(m.data)
		if m.event == "reset" {
			o.wrong = fmt.Errorf("told to fetch itself again")
		} else if err := o.now.apply(m.data); err != nil && o.wrong == nil {
			o.wrong = err
		}
		o.mu.Unlock()
	}
}

// Two hundred boards of people who may write and of others, and a burst of
// changes: each of them ends at what a new page shows, and is told a few times a
// second, not once for each change.
func TestEveryOpenBoardEndsAtTheTrueState(t *testing.T) {
	d := newDesk(t)
	var batch []jobs.New
	for i := range 300 {
		batch = append(batch, jobs.New{Title: fmt.Sprint("Job ", i)})
	}
	if _, err := d.Jobs.Create(t.Context(), d.owner, jobs.Origin{}, batch...); err != nil {
		t.Fatal(err)
	}
	base := d.listen(t)
	var all []*openPicture
	for i := range 200 / streamsPerPerson {
		reader := d.as([]tenancy.Role{tenancy.RoleMember, tenancy.RoleViewer}[i%2])
		page := read(t, reader.get("/board"), http.StatusOK)
		target := strings.ReplaceAll(liveTarget.FindStringSubmatch(page)[1], "&amp;", "&")
		for range streamsPerPerson {
			o := &openPicture{now: newPicture(t, page)}
			go o.follow(reader.stream(t, base+target, ""))
			all = append(all, o)
		}
	}
	began := time.Now()
	changes := d.burst(t)
	took := time.Since(began)
	truth := newPicture(t, read(t, d.get("/board"), http.StatusOK))
	deadline := time.After(patience)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for i, o := range all {
		for {
			o.mu.Lock()
			equal, wrong, messages := o.now.equal(truth), o.wrong, o.messages
			o.mu.Unlock()
			if wrong != nil {
				t.Fatalf("board %d: %v", i, wrong)
			}
			if equal {
				// Besides the feed's pace there are the refreshes of each second.
				if most := int(time.Since(began)/pace) + int(time.Since(began)/settle) + 5; messages > most {
					t.Errorf("board %d was told %d times in %v of %d changes, want %d at most", i, messages, took, changes, most)
				}
				break
			}
			select {
			case <-deadline:
				o.mu.Lock()
				defer o.mu.Unlock()
				t.Fatalf("board %d does not end at the true state: (-want +got)\n%s", i, cmp.Diff(truth.columns, o.now.columns)+cmp.Diff(truth.versions, o.now.versions))
			case <-look.C:
			}
		}
	}
	t.Logf("%d changes in %v: %d messages, %d KB for each board", changes, took, all[0].messages, all[0].whole/1000)
}

// pace is the least time between two messages of the board's feed.
const pace = 120 * time.Millisecond

var liveTarget = regexp.MustCompile(`hx-sse:connect="([^"]+)"`)

// burst pauses, resumes and cancels jobs, several at once, and adds new ones.
func (d *desk) burst(t *testing.T) (changes int) {
	t.Helper()
	var group errgroup.Group
	for part := range 6 {
		group.Go(func() error {
			for n := part + 1; n <= 120; n += 6 {
				for _, verb := range []jobs.Trigger{jobs.ByPause, jobs.ByResume, jobs.ByCancel}[:1+n%3] {
					if _, err := d.elsewhere.Act(t.Context(), d.owner, fmt.Sprint("FB-", n), dispatch.Action{Verb: verb}); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		_, err := d.Jobs.Create(t.Context(), d.owner, jobs.Origin{}, jobs.New{Title: "The last", Priority: new(int)})
		return err
	})
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return 241
}

// A reader that does not read holds nobody up: it is told to fetch the page anew,
// and then goes on.
func TestASlowReaderIsToldToFetchThePageAnew(t *testing.T) {
	all := seats{list: map[*seat]bool{}}
	slow, quick := &seat{}, &seat{}
	all.add(slow)
	all.add(quick)
	for i := range seatQueue + 1 {
		if err := all.tell(t.Context(), news{}, fmt.Sprintf("%d-0", i+1)); err != nil {
			t.Fatal(err)
		}
		<-quick.bulletins
	}
	n := 0
	for range slow.bulletins {
		n++
	}
	if n != seatQueue || !slow.late || quick.late || !all.list[quick] || all.list[slow] {
		t.Errorf("after %d messages: late %v, the other %v, %d seats", n, slow.late, quick.late, len(all.list))
	}
	if !all.add(slow) || slow.late {
		t.Error("a late reader gets no new place")
	}
}
