package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// readWait is how long a reading waits for a message, in seconds.
	readWait = 25
	// maxAck is how many messages one call acknowledges.
	maxAck = 500
	// firstBack is for how long a message is given back that nobody here can use; each
	// further time it is four times as long.
	firstBack = 30 * time.Second
	// callTime bounds a call that no engine should wait for.
	callTime = 10 * time.Second
)

// mail reads the agent's messages and says what became of them.
type mail struct {
	w   *Worker
	api *api.Client // of its own: reading waits
}

// run reads the agent's messages while an attempt runs, until ctx ends. What no
// attempt is meant by stays unacknowledged: the position is kept, so that it is not handed
// out again before the worker starts anew.
func (m *mail) run(ctx context.Context) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		err := m.tell(ctx)
		active, changed := m.w.inbox.active()
		switch {
		case err != nil:
		case active:
			err = m.read(ctx)
		default:
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		if err == nil || ctx.Err() != nil {
			pause = 0
			continue
		}
		if pause == 0 {
			m.w.Log.Warn("messages cannot be read: " + err.Error())
		}
		pause = min(max(2*pause, time.Second/4), longestPause)
		_ = signal.Sleep(ctx, signal.Jitter(pause, 0.3)) // the loop looks at ctx
	}
}

// read reads once, and waits for a message where there is none.
func (m *mail) read(ctx context.Context) error {
	wait, after := readWait, m.w.inbox.place()
	listening, stop := m.w.inbox.listening(ctx)
	defer stop()
	var answer *api.ReadMessagesResponse
	err := m.w.enrolled(listening, func() (err error) {
		answer, err = m.api.ReadMessagesWithResponse(listening, &api.ReadMessagesParams{After: &after, WaitSeconds: &wait})
		return err
	})
	switch {
	case listening.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	m.giveBack(ctx, m.w.inbox.put(answer.JSON200.Items, answer.JSON200.NextAfter, sinceBoot()))
	return nil
}

// tell sends the server what it does not know: messages that were acknowledged, and those
// that others may read instead.
func (m *mail) tell(ctx context.Context) error {
	m.giveBack(ctx, m.w.inbox.overdue(sinceBoot()))
	for seqs := m.w.inbox.toTell(maxAck); len(seqs) > 0; seqs = m.w.inbox.toTell(maxAck) {
		if err := m.acknowledge(ctx, seqs); err != nil {
			return err
		}
	}
	return nil
}

// acknowledge says that engines got messages. What does not arrive is sent later.
func (m *mail) acknowledge(ctx context.Context, seqs []int64) error {
	for part := range slices.Chunk(seqs, maxAck) {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		_, err := m.api.AckMessagesWithResponse(call, api.MessageAck{Seqs: &part})
		cancel()
		if !api.Decided(err) {
			m.w.inbox.unheard(part)
			return err
		}
	}
	return nil
}

// giveBackMessages lets other readers of shared inboxes have messages after a while. A
// message that is not given back is given to others by the server.
func (m *mail) giveBack(ctx context.Context, list []api.Message) {
	for _, one := range list {
		retry := int(firstBack.Seconds())
		for n := 1; one.Deliveries != nil && n < *one.Deliveries; n++ {
			retry *= 4
		}
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		_, err := m.api.NackMessageWithResponse(call, api.MessageNack{Seq: one.Seq, RetryInSeconds: &retry,
			Error: text("No attempt of " + m.w.Name + " read it in time.")})
		cancel()
		if err != nil {
			m.w.Log.Warn("a message could not be given back: "+err.Error(), "seq", one.Seq)
		}
	}
}

// settle does at the worker's end what messages still want: what is not acknowledged then
// is read again after the next start.
func (m *mail) settle(ctx context.Context) {
	if err := m.tell(ctx); err != nil {
		m.w.Log.Warn("messages that were read are read again at the next start: " + err.Error())
	}
}

// listSeqs returns the positions of messages.
func listSeqs(list []api.Message) []int64 {
	seqs := make([]int64, 0, len(list))
	for _, m := range list {
		seqs = append(seqs, m.Seq)
	}
	return seqs
}

// whom names an address as send_message takes it.
func whom(a api.MessageAddress) string {
	if a.Name == "" {
		return string(a.Kind)
	}
	return fmt.Sprintf("%s:%s", a.Kind, a.Name)
}
