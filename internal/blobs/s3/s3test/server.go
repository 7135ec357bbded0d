// Package s3test is a bucket for tests.
package s3test

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a bucket, as far as the description of S3's API goes for what the store uses:
// objects written at once and in parts, read whole and in ranges, deleted.
type Server struct {
	t *testing.T
	// URL is its endpoint.
	URL string

	mu      sync.Mutex
	Objects map[string][]byte
	Uploads map[string]map[int][]byte // by id, which begins with the key
	Largest int                       // of the bodies
	Broken  bool                      // whether it refuses everything
}

// Serve starts a bucket that ends with the test.
func Serve(t *testing.T) *Server {
	t.Helper()
	s := &Server{t: t, Objects: map[string][]byte{}, Uploads: map[string]map[int][]byte{}}
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	s.URL = listening.URL
	return s
}

// Address returns the bucket as the server's environment names it.
func (s *Server) Address() string { return "s3://bucket/in/here?region=eu-1&endpoint=" + s.URL }

// ServeHTTP answers a call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ok := strings.CutPrefix(r.URL.Path, "/bucket")
	key = strings.TrimPrefix(key, "/")
	query := r.URL.Query()
	body, err := payload(r)
	s.Largest = max(s.Largest, len(body))
	switch {
	case !ok || err != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/"):
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		refuse(w, http.StatusForbidden, "AccessDenied")
	case s.Broken:
		refuse(w, http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodGet && query.Has("uploads"):
		s.listUploads(w, query.Get("prefix"))
	case r.Method == http.MethodGet && query.Has("list-type"):
		s.list(w, query.Get("prefix"))
	case r.Method == http.MethodPost && query.Has("uploads"):
		id := key + "#" + strconv.Itoa(len(s.Uploads))
		s.Uploads[id] = map[int][]byte{}
		answer(w, "<InitiateMultipartUploadResult><Bucket>bucket</Bucket>"+
			"<Key>%s</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>", key, id)
	case query.Has("uploadId"):
		s.upload(w, r, key, query.Get("uploadId"), body)
	case r.Method == http.MethodPut:
		s.Objects[key] = body
		w.Header().Set("ETag", tag(body))
	case r.Method == http.MethodDelete:
		delete(s.Objects, key)
		w.WriteHeader(http.StatusNoContent)
	case s.Objects[key] == nil:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", tag(s.Objects[key]))
		http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(s.Objects[key]))
	}
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request, key, id string, body []byte) {
	parts, ok := s.Uploads[id]
	if !ok {
		refuse(w, http.StatusNotFound, "NoSuchUpload")
		return
	}
	switch r.Method {
	case http.MethodPut:
		number, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if err != nil {
			s.t.Error(err)
		}
		parts[number] = body
		w.Header().Set("ETag", tag(body))
	case http.MethodDelete:
		delete(s.Uploads, id)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodPost:
		var whole []byte
		for _, number := range slices.Sorted(maps.Keys(parts)) {
			if len(parts[number]) < 5<<20 && number < len(parts) {
				refuse(w, http.StatusBadRequest, "EntityTooSmall")
				return
			}
			whole = append(whole, parts[number]...)
		}
		s.Objects[key] = whole
		delete(s.Uploads, id)
		answer(w, "<CompleteMultipartUploadResult><Bucket>bucket</Bucket>"+
			"<Key>%s</Key><ETag>%s</ETag></CompleteMultipartUploadResult>", key, "x")
	}
}

func (s *Server) list(w http.ResponseWriter, prefix string) {
	var items strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.Objects)) {
		if strings.HasPrefix(key, prefix) {
			fmt.Fprintf(&items, "<Contents><Key>%s</Key><Size>%d</Size></Contents>", key, len(s.Objects[key]))
		}
	}
	answer(w, "<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>%s</ListBucketResult>", items.String())
}

func (s *Server) listUploads(w http.ResponseWriter, prefix string) {
	var items strings.Builder
	for id := range s.Uploads {
		if key, _, _ := strings.Cut(id, "#"); strings.HasPrefix(key, prefix) {
			fmt.Fprintf(&items, "<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>", key, id)
		}
	}
	answer(w, "<ListMultipartUploadsResult><Bucket>bucket</Bucket><IsTruncated>false</IsTruncated>"+
		"%s</ListMultipartUploadsResult>", items.String())
}

func answer(w http.ResponseWriter, form string, args ...any) {
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprintf(w, xml.Header+form, args...)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, xml.Header+"<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

func tag(body []byte) string {
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// payload returns the body; one that is signed piece by piece comes in chunks of its own:
// "<size in hexadecimal>;chunk-signature=…", the bytes, and a line's end.
func payload(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	in, whole := bufio.NewReader(r.Body), []byte{}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if err != nil || n == 0 {
			return whole, err
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		whole = append(whole, chunk[:n]...)
	}
}
