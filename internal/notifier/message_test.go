package notifier

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessagesHoldEveryTopicAndFit(t *testing.T) {
	var topics []string
	for i := range 10_000 {
		topics = append(topics, fmt.Sprintf("job:%06d", i))
	}
	messages := encode("me", topics)
	if len(messages) > 20 {
		t.Errorf("%d messages for 10,000 topics", len(messages))
	}
	var got []string
	for _, m := range messages {
		if len(m) > messageLimit {
			t.Errorf("a message has %d bytes", len(m))
		}
		from, list := decode(m)
		if from != "me" {
			t.Errorf("a message comes from %q", from)
		}
		got = append(got, list...)
	}
	if diff := cmp.Diff(topics, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTopicsThatFitNowhereBecomeEverything(t *testing.T) {
	for _, topic := range []string{strings.Repeat("x", 8000), "two\nlines", allTopics} {
		_, got := decode(encode("me", []string{topic})[0])
		if !cmp.Equal(got, []string{allTopics}) {
			t.Errorf("%.20q became %q", topic, got)
		}
	}
	if got := encode("me", nil); got != nil {
		t.Errorf("no topics became %q", got)
	}
}
