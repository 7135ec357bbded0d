package s3_test

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

// server is a bucket, as far as the description of S3's API goes for what the store uses:
// objects written at once and in parts, read whole and in ranges, deleted.
type server struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	objects map[string][]byte
	uploads map[string]map[int][]byte // by id, which begins with the key
	largest int                       // of the bodies
	broken  bool                      // whether it refuses everything
}

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, objects: map[string][]byte{}, uploads: map[string]map[int][]byte{}}
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	s.url = listening.URL
	return s
}

// address returns the bucket as the server's environment names it.
func (s *server) address() string { return "s3://bucket/in/here?region=eu-1&endpoint=" + s.url }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, ok := strings.CutPrefix(r.URL.Path, "/bucket")
	key = strings.TrimPrefix(key, "/")
	query := r.URL.Query()
	body, err := payload(r)
	s.largest = max(s.largest, len(body))
	switch {
	case !ok || err != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/"):
		s.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		refuse(w, http.StatusForbidden, "AccessDenied")
	case s.broken:
		refuse(w, http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodGet && query.Has("uploads"):
		s.list(w, query.Get("prefix"))
	case r.Method == http.MethodPost && query.Has("uploads"):
		id := key + "#" + strconv.Itoa(len(s.uploads))
		s.uploads[id] = map[int][]byte{}
		answer(w, "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>%s</Key><UploadId>%s</UploadId></InitiateMultipartUploadResult>", key, id)
	case query.Has("uploadId"):
		s.upload(w, r, key, query.Get("uploadId"), body)
	case r.Method == http.MethodPut:
		s.objects[key] = body
		w.Header().Set("ETag", tag(body))
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case s.objects[key] == nil:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", tag(s.objects[key]))
		http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(s.objects[key]))
	}
}

func (s *server) upload(w http.ResponseWriter, r *http.Request, key, id string, body []byte) {
	parts, ok := s.uploads[id]
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
		delete(s.uploads, id)
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
		s.objects[key] = whole
		delete(s.uploads, id)
		answer(w, "<CompleteMultipartUploadResult><Bucket>bucket</Bucket><Key>%s</Key><ETag>%s</ETag></CompleteMultipartUploadResult>", key, "x")
	}
}

func (s *server) list(w http.ResponseWriter, prefix string) {
	var items strings.Builder
	for id := range s.uploads {
		if key, _, _ := strings.Cut(id, "#"); strings.HasPrefix(key, prefix) {
			fmt.Fprintf(&items, "<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>", key, id)
		}
	}
	answer(w, "<ListMultipartUploadsResult><Bucket>bucket</Bucket><IsTruncated>false</IsTruncated>%s</ListMultipartUploadsResult>", items.String())
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
