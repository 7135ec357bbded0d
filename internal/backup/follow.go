package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db/replication"
	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
)

const (
	// pieceEvery is how old the part of the log is at most that only the server has.
	pieceEvery = 5 * time.Second
	// stateEvery is how often it is written down how far the log reaches.
	stateEvery = 10 * time.Second
	// patience is how long a piece of the log is awaited before one looks at the clock.
	patience = time.Second
	// newestEvents is how many events are named of each workspace, for the sentence that says what is missing.
	newestEvents = 20
)

// follower archives the log of a server.
type follower struct {
	*Keeper
	store  Store
	chain  string
	system replication.System
	log    *replication.Log
	state  chainState

	begins   replication.LSN   // of the present segment
	segment  []byte            // as far as it came
	stored   int               // bytes of it that the store has
	reached  time.Time         // the server's time up to which everything is stored
	awaited  replication.Piece // says up to where the store has to come for a later time; zero where none does
	storedAt time.Time
	statedAt time.Time
	dirty    bool
}

// follow archives the log until ctx ends.
func (k *Keeper) follow(ctx context.Context) (err error) {
	defer func() {
		if ctx.Err() == nil {
			k.status.note(partLog, err)
		}
	}()
	store, err := k.plan.Address.Open()
	if err != nil {
		return err
	}
	conn, err := replication.Connect(ctx, k.server.URL)
	if err != nil {
		return err
	}
	defer conn.Close()
	f := &follower{Keeper: k, store: store}
	if f.system, err = conn.Identify(ctx); err != nil {
		return err
	}
	if err := f.open(ctx, conn); err != nil {
		return err
	}
	f.log, err = conn.Follow(ctx, slotPrefix+f.chain, f.begins, f.system.Timeline)
	if err != nil {
		return errors.Join(err, f.dropWhereLost(ctx))
	}
	return f.run(ctx)
}

// open finds the chain that goes on, or begins one.
func (f *follower) open(ctx context.Context, conn *replication.Conn) error {
	slots, err := replication.Slots(ctx, f.server.URL, slotPrefix)
	if err != nil {
		return err
	}
	for _, slot := range slots {
		if f.chain == "" {
			chain := strings.TrimPrefix(slot.Name, slotPrefix)
			goesOn, err := f.goOn(ctx, chain, slot)
			if err != nil {
				return err
			}
			if goesOn {
				f.chain = chain
				continue
			}
		}
		if err := conn.DropSlot(ctx, slot.Name); err != nil {
			return err
		}
	}
	if f.chain != "" {
		return nil
	}
	return f.begin(ctx, conn)
}

// goOn reports whether a chain of the store can be gone on with.
func (f *follower) goOn(ctx context.Context, chain string, slot replication.Slot) (bool, error) {
	state, _, err := readState(ctx, f.store, chain)
	var damage *DamageError
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.As(err, &damage):
		return false, nil
	case err != nil:
		return false, err
	case slot.Lost || state.System != f.system.ID || state.Timeline != f.system.Timeline:
		return false, nil
	}
	// The server has the log from the slot's place on, with the whole of its segment.
	f.state, f.begins = state, slot.Kept.Segment(f.system.SegmentSize)
	return true, nil
}

// begin begins a chain, and has a backup made that it goes on from.
func (f *follower) begin(ctx context.Context, conn *replication.Conn) error {
	f.chain = newChain()
	name := slotPrefix + f.chain
	if err := conn.MakeSlot(ctx, name); err != nil {
		return err
	}
	slots, err := replication.Slots(ctx, f.server.URL, name)
	if err != nil || len(slots) != 1 {
		return errors.Join(err, errors.New("the slot that was made is not there"))
	}
	f.begins = slots[0].Kept.Segment(f.system.SegmentSize)
	f.state = chainState{Format: format, System: f.system.ID, Timeline: f.system.Timeline, SegmentSize: f.system.SegmentSize,
		From: f.begins.String(), Position: f.begins.String()}
	if err := f.save(ctx); err != nil {
		return errors.Join(err, conn.DropSlot(context.WithoutCancel(ctx), name))
	}
	select {
	case f.begun <- struct{}{}:
	default: // it is awaited already
	}
	return nil
}

// dropWhereLost removes a slot that cannot be gone on with, so that the next one begins anew.
func (f *follower) dropWhereLost(ctx context.Context) error {
	slots, err := replication.Slots(ctx, f.server.URL, slotPrefix+f.chain)
	if err != nil || len(slots) != 1 || !slots[0].Lost {
		return err
	}
	conn, err := replication.Connect(ctx, f.server.URL)
	if err != nil {
		return err
	}
	defer conn.Close()
	f.Keeper.log.WarnContext(ctx, "the archive fell too far behind the log: it begins anew, with a backup")
	return conn.DropSlot(ctx, slots[0].Name)
}

// run reads the log, and stores what came every few seconds.
func (f *follower) run(ctx context.Context) error {
	f.storedAt, f.statedAt = time.Now(), time.Now()
	for {
		p, found, err := f.log.Next(ctx, patience)
		if err != nil {
			return err
		}
		if found {
			if err := f.add(ctx, p); err != nil {
				return err
			}
		}
		if time.Since(f.storedAt) >= pieceEvery {
			if err := f.flush(ctx); err != nil {
				return err
			}
		}
		if f.dirty && time.Since(f.statedAt) >= stateEvery {
			if err := f.save(ctx); err != nil {
				return err
			}
		}
	}
}

// add takes a piece of the log.
func (f *follower) add(ctx context.Context, p replication.Piece) error {
	at := f.begins.Plus(int64(len(f.segment)))
	if len(p.Data) > 0 && p.At != at {
		return fmt.Errorf("the log goes on at %s and not at %s", p.At, at)
	}
	size := f.system.SegmentSize
	for data := p.Data; len(data) > 0; {
		fits := min(len(data), int(size)-len(f.segment))
		f.segment = append(f.segment, data[:fits]...)
		data = data[fits:]
		if int64(len(f.segment)) == size {
			if err := f.complete(ctx); err != nil {
				return err
			}
		}
	}
	if f.awaited.Sent.IsZero() {
		f.awaited = replication.Piece{End: p.End, Sent: p.Sent}
	}
	f.reach()
	return nil
}

// position is up to where the log is stored.
func (f *follower) position() replication.LSN { return f.begins.Plus(int64(f.stored)) }

// reach notes up to which time everything that was committed is stored.
func (f *follower) reach() {
	if f.awaited.Sent.IsZero() || f.position() < f.awaited.End {
		return
	}
	if f.awaited.Sent.After(f.reached) {
		f.reached, f.dirty = f.awaited.Sent, true
		f.status.reached(f.reached)
	}
	f.awaited = replication.Piece{}
}

// flush stores what came of the present segment, and asks the server for its time.
func (f *follower) flush(ctx context.Context) error {
	if f.stored < len(f.segment) {
		piece := f.segment[f.stored:]
		if err := f.put(ctx, logName(f.name(), int64(f.stored), false, piece), piece); err != nil {
			return err
		}
		f.stored = len(f.segment)
		f.reach()
	}
	f.storedAt = time.Now()
	f.status.note(partLog, nil)
	return f.log.Keep(f.position())
}

// complete stores a whole segment in the place of its pieces.
func (f *follower) complete(ctx context.Context) error {
	whole := logName(f.name(), 0, true, f.segment)
	if err := f.put(ctx, whole, f.segment); err != nil {
		return err
	}
	names, err := f.store.List(ctx, chainFolder+f.chain+"/"+f.name()+".")
	for _, name := range names {
		if err == nil {
			err = f.store.Remove(ctx, name)
		}
	}
	f.begins = f.begins.Plus(int64(len(f.segment)))
	f.segment, f.stored = f.segment[:0], 0
	return err
}

func (f *follower) name() string {
	return replication.SegmentName(f.system.Timeline, f.begins, f.system.SegmentSize)
}

func (f *follower) put(ctx context.Context, name string, content []byte) error {
	f.dirty = true
	return f.store.Put(ctx, chainFolder+f.chain+"/"+name, content)
}

// save writes down how far the log reaches.
func (f *follower) save(ctx context.Context) error {
	ends, err := seal.Ends(ctx, f.server.DB)
	if err != nil {
		return err
	}
	before := map[string]seal.End{}
	for _, e := range f.state.Ends {
		before[e.Workspace.String()] = e
	}
	for i, e := range ends {
		if was := before[e.Workspace.String()]; was.Position == e.Position {
			ends[i].Newest = was.Newest
		} else if ends[i].Newest, err = seal.Newest(ctx, f.server.DB, e.Workspace, newestEvents); err != nil {
			return err
		}
	}
	if f.log != nil {
		f.state.Position = f.position().String()
	}
	f.state.Ends = ends
	if f.reached.After(f.state.Reached) {
		f.state.Reached = f.reached
	}
	text, err := sign(f.server.Secret, f.state)
	if err != nil {
		return err
	}
	if err := f.store.Put(ctx, chainFolder+f.chain+"/"+stateName, text); err != nil {
		return err
	}
	f.dirty, f.statedAt = false, time.Now()
	return nil
}
