package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// gitea adds the calls of Gitea, as its swagger.v1.json describes them.
func (s *Server) gitea(mux *http.ServeMux) {
	const repo = "/api/v1/repos/{owner}/{repo}"
	on := func(method, path string, do func(http.ResponseWriter, *http.Request)) {
		s.handle(mux, "token", method+" "+repo+path, do)
	}
	on("POST", "/pulls", s.giteaOpen)
	on("GET", "/pulls", s.giteaList)
	on("GET", "/pulls/{index}", s.giteaWith(func(w http.ResponseWriter, _ *http.Request, p *pull) {
		answer(w, http.StatusOK, s.giteaPull(p))
	}))
	on("POST", "/pulls/{index}/merge", s.giteaWith(s.giteaMerge))
	on("GET", "/commits/{ref}/status", s.giteaStatus)
}

func message(text string) map[string]string {
	return map[string]string{"message": text, "url": "/api/swagger"}
}

func (s *Server) giteaPull(p *pull) map[string]any {
	id := map[string]any{"id": 1, "full_name": Owner + "/" + s.Name}
	said := map[string]any{"number": p.number, "title": p.title, "body": p.body, "state": "open", "merged": p.mergedAs != "",
		"merge_commit_sha": nil, "html_url": fmt.Sprintf("%s/%s/%s/pulls/%d", s.URL, Owner, s.Name, p.number),
		"head":      map[string]any{"label": p.branch, "ref": p.branch, "sha": p.head, "repo": id},
		"base":      map[string]any{"label": p.base, "ref": p.base, "sha": s.branch(p.base), "repo": id},
		"mergeable": p.mergedAs == "" && s.fits(p)}
	if p.mergedAs != "" {
		said["merge_commit_sha"] = p.mergedAs
	}
	if p.mergedAs != "" || p.closed {
		said["state"] = "closed"
	}
	return said
}

func (s *Server) giteaOpen(w http.ResponseWriter, r *http.Request) {
	var in struct{ Head, Base, Title, Body string }
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Title == "" {
		answer(w, http.StatusUnprocessableEntity, message("[Title]: Required"))
		return
	}
	switch {
	case s.branch(in.Head) == "" || s.branch(in.Base) == "":
		answer(w, http.StatusNotFound, message("The target couldn't be found."))
	case s.openFrom(in.Head, in.Base) != nil:
		answer(w, http.StatusConflict, message("pull request already exists for these targets [id: 1, issue_id: 1]"))
	default:
		answer(w, http.StatusCreated, s.giteaPull(s.open(in.Title, in.Body, in.Head, in.Base)))
	}
}

func (s *Server) giteaList(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.FormValue("page"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	list := []map[string]any{}
	for _, p := range s.pulls {
		if s.look(p); !p.closed && p.mergedAs == "" {
			list = append(list, s.giteaPull(p))
		}
	}
	from := min(len(list), (page-1)*limit)
	answer(w, http.StatusOK, list[from:min(len(list), from+limit)])
}

func (s *Server) giteaWith(do func(http.ResponseWriter, *http.Request, *pull)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("index"))
		if n < 1 || n > len(s.pulls) {
			answer(w, http.StatusNotFound, message("The target couldn't be found."))
			return
		}
		s.look(s.pulls[n-1])
		do(w, r, s.pulls[n-1])
	}
}

func (s *Server) giteaMerge(w http.ResponseWriter, r *http.Request, p *pull) {
	var in struct {
		Do   string `json:"Do"`
		Head string `json:"head_commit_id"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Do != "merge" && in.Do != "fast-forward-only" {
		answer(w, http.StatusUnprocessableEntity, message("[Do]: Required"))
		return
	}
	_, behind := s.tryGit("merge-base", "--is-ancestor", s.branch(p.base), p.head)
	switch {
	case p.mergedAs != "":
		answer(w, http.StatusMethodNotAllowed, message("The PR is already merged"))
	case p.closed:
		answer(w, http.StatusNotFound, message("The target couldn't be found."))
	case !s.fits(p):
		answer(w, http.StatusMethodNotAllowed, message("Please try again later"))
	case p.approvals < s.wanted:
		answer(w, http.StatusMethodNotAllowed, message("not ready to be merged: Does not have enough approvals"))
	case in.Head != "" && in.Head != p.head:
		answer(w, http.StatusConflict, message("head out of date"))
	case in.Do == "fast-forward-only" && behind != nil:
		answer(w, http.StatusInternalServerError, message("")) // it says no more
	case in.Do == "fast-forward-only":
		s.git("update-ref", "refs/heads/"+p.base, p.head)
		s.look(p)
		answer(w, http.StatusOK, nil)
	default:
		s.merge(p)
		answer(w, http.StatusOK, nil)
	}
}

func (s *Server) giteaStatus(w http.ResponseWriter, r *http.Request) {
	commit := r.PathValue("ref")
	list := []map[string]string{}
	if page := r.FormValue("page"); page == "" || page == "1" {
		for name, state := range s.statuses[commit] {
			list = append(list, map[string]string{"context": name, "status": state})
		}
	}
	answer(w, http.StatusOK, map[string]any{"sha": commit, "state": s.state(commit), "total_count": len(list), "statuses": list})
}
