package links

import (
	"net/url"
	"strconv"
)

// TranscriptView is which part of a job's transcripts is shown. The zero value is the newest steps of the newest
// attempt.
type TranscriptView struct {
	Epoch  int64  // of one attempt
	Kind   string // a group of kinds of steps
	Before int64  // steps before the one of this number
	Step   int64  // the steps around this one
	Path   string // the last step that edits this file
	Text   string // steps with this text
}

func (w TranscriptView) values() url.Values {
	v := url.Values{}
	for name, n := range map[string]int64{"epoch": w.Epoch, "before": w.Before, "step": w.Step} {
		if n > 0 {
			v.Set(name, strconv.FormatInt(n, 10))
		}
	}
	for name, text := range map[string]string{"kind": w.Kind, "path": w.Path, "q": w.Text} {
		if text != "" {
			v.Set(name, text)
		}
	}
	return v
}

// Transcript returns the page of a job's transcript.
func Transcript(key string, w TranscriptView) string { return with(Job(key)+"/transcript", w.values()) }

// TranscriptStep returns a step among those around it.
func TranscriptStep(key string, epoch, n int64) string {
	return Transcript(key, TranscriptView{Epoch: epoch, Step: n}) + "#step-" + strconv.FormatInt(n, 10)
}

// TranscriptText returns the whole text of a step.
func TranscriptText(key string, epoch, n int64) string {
	return with(Job(key)+"/transcript/text", TranscriptView{Epoch: epoch, Step: n}.values())
}

// LiveTranscript returns the stream of steps that follow the one of a number.
func LiveTranscript(key string, epoch, after int64, w TranscriptView) string {
	v := w.values()
	v.Set("after", strconv.FormatInt(epoch, 10)+"-"+strconv.FormatInt(after, 10))
	return with(LivePath+Job(key)+"/transcript", v)
}
