package links

import "net/url"

// JobTick takes index, text and met: whether a person found a criterion met.
func JobTick(key string) string { return Job(key) + "/tick" }

// JobLink takes kind and other, the job to link with.
func JobLink(key string) string { return Job(key) + "/link" }

// JobUnlink takes other and type.
func JobUnlink(key string) string { return Job(key) + "/unlink" }

// JobLinkable finds jobs to link with; it takes q.
func JobLinkable(key string) string { return Job(key) + "/linkable" }

// JobEdit returns the form that changes a job, at one of its fields; "" is its beginning.
func JobEdit(key, field string) string {
	if field != "" {
		field = "#" + field
	}
	return Job(key) + "/edit" + field
}

// JobRetryWith returns the form that changes a job and retries it.
func JobRetryWith(key string) string { return JobEdit(key, "") + "?then=retry" }

// JobDraft shows the form that changes a job as a draft has it.
func JobDraft(key string, retry bool) string {
	if retry {
		return JobRetryWith(key) + "&draft=1"
	}
	return JobEdit(key, "") + "?draft=1"
}

// JobCopy returns the form of a new job like this one.
func JobCopy(key string) string { return with(NewJob, url.Values{"from": {key}}) }

// JobAsk returns the dialog before a verb, for a page that shows it in place.
func JobAsk(key, verb string) string { return Job(key) + "/ask/" + url.PathEscape(verb) }

// Question is the part of a job's page where its agent's question is answered.
const Question = "#question"

// JobQuestion returns the job's page at its question.
func JobQuestion(key string) string { return Job(key) + Question }

// JobDialog returns the job's page with that dialog open.
func JobDialog(key, verb string) string { return Job(key) + "#dlg-" + verb }

// JobUndo takes back the last act on a job; it takes version.
func JobUndo(key string) string { return Job(key) + "/undo" }
