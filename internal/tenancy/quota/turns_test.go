package quota

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func personOf(workspace ids.ID) tenancy.Principal {
	return tenancy.Principal{Kind: tenancy.KindPerson, Workspace: workspace, Account: ids.New()}
}

// taken takes turns for each of them, and fails the test where one is refused.
func taken(t *testing.T, turns *Turns, list ...tenancy.Principal) []*Turn {
	t.Helper()
	var all []*Turn
	for _, who := range list {
		turn, err := turns.Take(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, turn)
	}
	return all
}

func seen(turns *Turns, list ...tenancy.Principal) {
	for _, who := range list {
		turns.See(who)
	}
}

// One caller has half of the processors, a workspace all of them, and one more is the
// others'. Whoever is over its own is refused as such, whoever finds none at all is not.
func TestTurnsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2)
		here := ids.New()
		ada, bob, cyd, eve := personOf(here), personOf(here), personOf(here), personOf(ids.New())
		keep := func(refusal fault.Code, who tenancy.Principal) {
			t.Helper()
			began := time.Now()
			seen(turns, ada, bob)
			_, err := turns.Take(t.Context(), who)
			if !fault.Is(err, refusal) || time.Since(began) != turnPatience {
				t.Errorf("after %v: %v, want %s", time.Since(began), err, refusal)
			}
		}
		seen(turns, ada, bob)
		list := taken(t, turns, ada)
		keep(fault.TooMany, ada)
		list = append(list, taken(t, turns, bob)...)
		keep(fault.TooMany, cyd)
		list = append(list, taken(t, turns, eve)...)
		keep(fault.Unavailable, personOf(ids.New()))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := turns.Take(gone, ada); !errors.Is(err, context.Canceled) {
			t.Errorf("without a caller: %v", err)
		}
		for _, turn := range append(list, list[0], nil) {
			turn.End()
		}
		if turns.used != 0 || len(turns.of) != 0 || len(turns.waiting) != 0 {
			t.Errorf("%d turns, %d askers and %d waiting are left", turns.used, len(turns.of), len(turns.waiting))
		}
	})
}

// Of those who wait whoever has the least goes first, then whoever was served longest ago.
func TestTurnsGoRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		here, there := ids.New(), ids.New()
		ada, bob, eve := personOf(here), personOf(here), personOf(there)
		seen(turns, ada, bob, eve)
		first := taken(t, turns, ada, eve)
		var mu sync.Mutex
		var order []string
		came := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(order)
		}
		for _, one := range []struct {
			name string
			who  tenancy.Principal
		}{{"ada", ada}, {"ada", ada}, {"ada", ada}, {"bob", bob}, {"eve", eve}} {
			go func() {
				turn, err := turns.Await(t.Context(), one.who)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, one.name)
				mu.Unlock()
				<-time.After(time.Millisecond)
				turn.End()
			}()
			synctest.Wait()
		}
		first[0].End()
		synctest.Wait()
		if got := came(); !slices.Equal(got, []string{"bob"}) {
			t.Errorf("after ada's turn came %v", got)
		}
		<-time.After(10 * time.Millisecond)
		first[1].End()
		<-time.After(20 * time.Millisecond) // eve has rested
		if want := []string{"bob", "ada", "ada", "ada", "eve"}; !slices.Equal(came(), want) {
			t.Errorf("they came in the order %v, want %v", came(), want)
		}
		<-time.After(10 * time.Millisecond)
	})
}

// Who is alone has all turns, until somebody else is seen.
func TestWhoIsAloneHasAllTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2)
		ada, bob := personOf(ids.New()), personOf(ids.New())
		seen(turns, bob, ada, ada)
		<-time.After(aloneAfter)
		seen(turns, ada, ada)
		list := taken(t, turns, ada, ada, ada)
		turns.See(bob)
		for _, turn := range list[:2] {
			turn.End()
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if turn, err := turns.Await(soon, ada); err == nil {
			t.Error("not alone any more, and has two turns")
			turn.End()
		}
		taken(t, turns, bob)[0].End()
		list[2].End()
	})
}

// The line of a caller is short: what comes behind its end is refused at once, and nobody
// else is.
func TestTheLineOfAnAskerIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2)
		ada, bob := personOf(ids.New()), personOf(ids.New())
		seen(turns, ada, bob)
		held := taken(t, turns, ada)
		ctx, cancel := context.WithCancel(t.Context())
		for range TurnLine {
			go func() { _, _ = turns.Take(ctx, ada) }()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := turns.Take(t.Context(), ada); !fault.Is(err, fault.TooMany) || time.Since(began) != 0 {
			t.Errorf("behind the end: %v after %v", err, time.Since(began))
		}
		for _, turn := range append(taken(t, turns, bob), held...) {
			turn.End()
		}
		cancel()
		synctest.Wait()
	})
}

func TestNoTurnsAreNoLimit(t *testing.T) {
	var turns *Turns
	ada := personOf(ids.New())
	turns.See(ada)
	for _, turn := range taken(t, turns, ada, ada, ada, ada, ada) {
		turn.End()
	}
	if turn, err := turns.Await(t.Context(), ada); turn != nil || err != nil {
		t.Error(turn, err)
	}
}

// Cheap requests of one caller take turns among themselves, and among nobody else.
func TestCheapRequestsTakeTurnsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2)
		here := ids.New()
		ada, bob := personOf(here), personOf(here)
		seen(turns, ada, bob)
		held := taken(t, turns, ada)
		for _, who := range []tenancy.Principal{ada, ada, bob, bob} {
			turn, err := turns.TakeCheap(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, turn)
		}
		came := false
		go func() {
			turn, err := turns.TakeCheap(t.Context(), ada)
			came = err == nil
			turn.End()
		}()
		synctest.Wait()
		if came {
			t.Error("a third cheap request at once")
		}
		held[1].End()
		synctest.Wait()
		if !came {
			t.Error("the third does not come after the first")
		}
		for _, turn := range held {
			turn.End()
		}
		var none *Turns
		if turn, err := none.TakeCheap(t.Context(), ada); turn != nil || err != nil {
			t.Error(turn, err)
		}
	})
}

// Between two turns a caller rests as long as the first one was, unless it is alone.
func TestAnAskerRestsAsLongAsItWorks(t *testing.T) {
	for _, c := range []struct {
		works, rests time.Duration
		alone        bool
	}{{works: 10 * time.Millisecond, rests: 10 * time.Millisecond}, {works: 900 * time.Millisecond, rests: maxRest},
		{works: 10 * time.Millisecond, alone: true}} {
		synctest.Test(t, func(t *testing.T) {
			turns := NewTurns(2)
			here := ids.New()
			ada, bob := personOf(here), personOf(here)
			if seen(turns, ada); !c.alone {
				seen(turns, bob, ada)
			}
			turn := taken(t, turns, ada)[0]
			<-time.After(c.works)
			began := time.Now()
			turn.End()
			for _, of := range []struct {
				who   tenancy.Principal
				waits time.Duration
			}{{bob, 0}, {ada, c.rests}} {
				turn, err := turns.Await(t.Context(), of.who)
				if err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began); waited != of.waits {
					t.Errorf("after %v the next one waits %v, want %v", c.works, waited, of.waits)
				}
				turn.End()
			}
			<-time.After(aloneAfter)
			turns.mu.Lock()
			defer turns.mu.Unlock()
			if len(turns.of) > 0 {
				t.Errorf("%d askers are remembered", len(turns.of))
			}
		})
	}
}
