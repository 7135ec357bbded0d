package notifier

import "strings"

const (
	// messageLimit keeps a message below the 8000 bytes that NOTIFY takes.
	messageLimit = 7900
	// allTopics is the topic that stands for all others.
	allTopics = ""
)

// encode packs topics into as few messages as they fit in. A message is the
// sender's instance and the topics, each on a line. A topic that is too
// long for a message, or has a line break, becomes allTopics.
func encode(instance string, topics []string) []string {
	var messages []string
	var b strings.Builder
	for _, t := range topics {
		if len(instance)+1+len(t) > messageLimit || strings.Contains(t, "\n") {
			t = allTopics
		}
		if b.Len() > 0 && b.Len()+1+len(t) > messageLimit {
			messages = append(messages, b.String())
			b.Reset()
		}
		if b.Len() == 0 {
			b.WriteString(instance)
		}
		b.WriteString("\n" + t)
	}
	if b.Len() > 0 {
		messages = append(messages, b.String())
	}
	return messages
}

// decode returns the reverse of encode for one message.
func decode(message string) (instance string, topics []string) {
	lines := strings.Split(message, "\n")
	return lines[0], lines[1:]
}
