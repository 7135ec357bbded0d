package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
)

// Objects are named contents of a bucket, each small enough to be held in memory.
type Objects struct{ store *Store }

// NewObjects returns those at an address, which is one of New.
func NewObjects(address string, c Credentials) (*Objects, error) {
	s, err := New(address, c)
	if err != nil {
		return nil, err
	}
	return &Objects{s}, nil
}

func (o *Objects) key(name string) string { return path.Join(o.store.prefix, name) }

// Put writes an object, whole or not at all.
func (o *Objects) Put(ctx context.Context, name string, content []byte) error {
	_, err := o.store.core.PutObject(ctx, o.store.bucket, o.key(name), bytes.NewReader(content), int64(len(content)), "", "",
		minio.PutObjectOptions{})
	return o.say("write", name, err)
}

// Get reads an object; fs.ErrNotExist where there is none.
func (o *Objects) Get(ctx context.Context, name string) ([]byte, error) {
	body, _, _, err := o.store.core.GetObject(ctx, o.store.bucket, o.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, o.say("read", name, err)
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	return content, o.say("read", name, err)
}

// List returns the names of the objects below a prefix, in their order.
func (o *Objects) List(ctx context.Context, prefix string) (names []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing where an error ends this
	root := ""
	if o.store.prefix != "" {
		root = o.store.prefix + "/"
	}
	options := minio.ListObjectsOptions{Prefix: root + prefix, Recursive: true}
	for object := range o.store.core.Client.ListObjects(ctx, o.store.bucket, options) {
		if object.Err != nil {
			return nil, o.say("list", prefix, object.Err)
		}
		names = append(names, strings.TrimPrefix(object.Key, root))
	}
	return names, nil
}

// Remove deletes an object, if there is one.
func (o *Objects) Remove(ctx context.Context, name string) error {
	return o.say("delete", name, o.store.core.RemoveObject(ctx, o.store.bucket, o.key(name), minio.RemoveObjectOptions{}))
}

// say makes a sentence of what the bucket answered.
func (o *Objects) say(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	said := minio.ToErrorResponse(err)
	switch {
	case said.Code == minio.NoSuchKey:
		return fmt.Errorf("%s of the bucket %s: %w", name, o.store.bucket, fs.ErrNotExist)
	case said.Code == minio.NoSuchBucket:
		return fmt.Errorf("there is no bucket %s", o.store.bucket)
	case said.Code == minio.AccessDenied || said.StatusCode == forbidden:
		return fmt.Errorf("the bucket %s does not let these credentials %s %q", o.store.bucket, verb, o.key(name))
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("the bucket %s, to %s %q: %w", o.store.bucket, verb, o.key(name), err)
}
