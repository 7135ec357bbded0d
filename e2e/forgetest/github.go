package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// gitHub adds the calls of GitHub Enterprise, as its REST description 2022-11-28 has them.
func (s *Server) gitHub(mux *http.ServeMux) {
	const repo = "/api/v3/repos/{owner}/{repo}"
	on := func(method, path string, do func(http.ResponseWriter, *http.Request)) {
		s.handle(mux, "Bearer", method+" "+repo+path, do)
	}
	on("POST", "/pulls", s.gitHubOpen)
	on("GET", "/pulls", s.gitHubList)
	on("GET", "/pulls/{number}", s.gitHubWith(func(w http.ResponseWriter, _ *http.Request, p *pull) {
		answer(w, http.StatusOK, s.gitHubPull(p))
	}))
	on("PUT", "/pulls/{number}/merge", s.gitHubWith(s.gitHubMerge))
	on("PATCH", "/git/refs/heads/{branch}", s.gitHubMove)
	on("GET", "/commits/{ref}/status", s.gitHubStatus)
	on("GET", "/commits/{ref}/check-runs", s.gitHubRuns)
}

// invalid is GitHub's 422.
func invalid(w http.ResponseWriter, text string) {
	answer(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed",
		"errors": []map[string]string{{"resource": "PullRequest", "code": "custom", "message": text}}, "status": "422"})
}

func (s *Server) gitHubPull(p *pull) map[string]any {
	said := map[string]any{"number": p.number, "title": p.title, "body": p.body, "state": "open", "merged": p.mergedAs != "",
		"html_url": fmt.Sprintf("%s/%s/%s/pull/%d", s.URL, Owner, s.Name, p.number), "merge_commit_sha": nil, "mergeable": nil,
		"head": map[string]any{"label": Owner + ":" + p.branch, "ref": p.branch, "sha": p.head},
		"base": map[string]any{"label": Owner + ":" + p.base, "ref": p.base, "sha": s.branch(p.base)}}
	switch {
	case p.mergedAs != "":
		said["state"], said["merge_commit_sha"] = "closed", p.mergedAs
	case p.closed:
		said["state"] = "closed"
	default:
		said["mergeable"] = s.fits(p)
	}
	return said
}

func (s *Server) gitHubOpen(w http.ResponseWriter, r *http.Request) {
	var in struct{ Head, Base, Title, Body string }
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Title == "" {
		answer(w, http.StatusUnprocessableEntity, message("Invalid request.\n\n\"title\" wasn't supplied."))
		return
	}
	switch {
	case s.branch(in.Head) == "" || s.branch(in.Base) == "":
		invalid(w, "not all refs are readable")
	case s.openFrom(in.Head, in.Base) != nil:
		invalid(w, "A pull request already exists for "+Owner+":"+in.Head+".")
	default:
		answer(w, http.StatusCreated, s.gitHubPull(s.open(in.Title, in.Body, in.Head, in.Base)))
	}
}

func (s *Server) gitHubList(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	for _, p := range s.pulls {
		s.look(p)
		if !p.closed && p.mergedAs == "" && r.FormValue("head") == Owner+":"+p.branch && r.FormValue("base") == p.base {
			list = append(list, s.gitHubPull(p))
		}
	}
	answer(w, http.StatusOK, list)
}

func (s *Server) gitHubWith(do func(http.ResponseWriter, *http.Request, *pull)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("number"))
		if n < 1 || n > len(s.pulls) {
			answer(w, http.StatusNotFound, message("Not Found"))
			return
		}
		s.look(s.pulls[n-1])
		do(w, r, s.pulls[n-1])
	}
}

func (s *Server) gitHubMerge(w http.ResponseWriter, r *http.Request, p *pull) {
	var in struct {
		SHA    string `json:"sha"`
		Method string `json:"merge_method"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Method != "merge" {
		invalid(w, "merge_method")
		return
	}
	switch {
	case p.closed || p.mergedAs != "" || !s.fits(p):
		answer(w, http.StatusMethodNotAllowed, message("Pull Request is not mergeable"))
	case p.approvals < s.wanted:
		answer(w, http.StatusMethodNotAllowed,
			message("At least "+strconv.Itoa(s.wanted)+" approving review is required by reviewers with write access."))
	case in.SHA != p.head:
		answer(w, http.StatusConflict, message("Head branch was modified. Review and try the merge again."))
	default:
		answer(w, http.StatusOK, map[string]any{"sha": s.merge(p), "merged": true, "message": "Pull Request successfully merged"})
	}
}

func (s *Server) gitHubMove(w http.ResponseWriter, r *http.Request) {
	var in struct {
		SHA   string `json:"sha"`
		Force bool   `json:"force"`
	}
	branch := r.PathValue("branch")
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Force || s.branch(branch) == "" {
		invalid(w, "Reference does not exist")
		return
	}
	if _, err := s.tryGit("merge-base", "--is-ancestor", s.branch(branch), in.SHA); err != nil {
		answer(w, http.StatusUnprocessableEntity, message("Update is not a fast forward"))
		return
	}
	s.git("update-ref", "refs/heads/"+branch, in.SHA)
	answer(w, http.StatusOK, map[string]any{"ref": "refs/heads/" + branch, "object": map[string]string{"type": "commit", "sha": in.SHA}})
}

// gitHubStatus are the commit statuses; the other half of the checks are runs.
func (s *Server) gitHubStatus(w http.ResponseWriter, r *http.Request) {
	commit := r.PathValue("ref")
	list := []map[string]string{}
	for name, state := range s.statuses[commit] {
		if name[0] != '@' {
			list = append(list, map[string]string{"context": name, "state": state})
		}
	}
	answer(w, http.StatusOK, map[string]any{"sha": commit, "state": s.state(commit), "total_count": len(list), "statuses": list})
}

// gitHubRuns are the checks whose names begin with @, which are runs of an app.
func (s *Server) gitHubRuns(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	for name, state := range s.statuses[r.PathValue("ref")] {
		switch {
		case name[0] != '@':
		case state == "pending":
			list = append(list, map[string]any{"name": name[1:], "status": "in_progress", "conclusion": nil})
		default:
			list = append(list, map[string]any{"name": name[1:], "status": "completed", "conclusion": state})
		}
	}
	answer(w, http.StatusOK, map[string]any{"total_count": len(list), "check_runs": list})
}
