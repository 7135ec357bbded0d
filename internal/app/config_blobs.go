package app

import (
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/blobs/s3"
)

// BlobConfig is where blobs are kept, and how many.
type BlobConfig struct {
	// URL is a store for the blobs, s3://bucket/prefix?endpoint=https://host&region=r;
	// empty keeps them in PostgreSQL.
	URL string `env:"FLEETBOARD_BLOBS_URL"`
	// Max is how many MB a blob may have, Total how many all of a workspace may.
	Max   int `env:"FLEETBOARD_BLOB_MAX" envDefault:"64"`
	Total int `env:"FLEETBOARD_BLOBS_TOTAL" envDefault:"5120"`
	// AccessKey, SecretKey and SessionToken are those of AWS's programs. Without them it
	// is their file, or the role of the machine.
	AccessKey    string `env:"AWS_ACCESS_KEY_ID"`
	SecretKey    string `env:"AWS_SECRET_ACCESS_KEY"`
	SessionToken string `env:"AWS_SESSION_TOKEN"`
}

// maxBlob and maxBlobs bound the limits, in MB.
const (
	maxBlob  = 4096
	maxBlobs = 100 << 20
)

func (c BlobConfig) check() error {
	var errs []error
	if c.Max < 1 || c.Max > maxBlob {
		errs = append(errs, fmt.Errorf("FLEETBOARD_BLOB_MAX: must be a number of MB from 1 to %d", maxBlob))
	}
	if c.Total < c.Max || c.Total > maxBlobs {
		errs = append(errs, fmt.Errorf("FLEETBOARD_BLOBS_TOTAL: must be a number of MB from FLEETBOARD_BLOB_MAX to %d", maxBlobs))
	}
	if _, err := c.options(); err != nil {
		errs = append(errs, fmt.Errorf("FLEETBOARD_BLOBS_URL: %w", err))
	}
	if c.URL != "" && (c.AccessKey == "") != (c.SecretKey == "") {
		errs = append(errs, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: set both or neither"))
	}
	return errors.Join(errs...)
}

// options returns those of the blobs.
func (c BlobConfig) options() (blobs.Options, error) {
	o := blobs.Options{MaxSize: int64(c.Max) << 20, MaxTotal: int64(c.Total) << 20}
	if c.URL == "" {
		return o, nil
	}
	store, err := s3.New(c.URL, s3.Credentials{AccessKey: c.AccessKey, SecretKey: c.SecretKey, SessionToken: c.SessionToken})
	if err != nil {
		return o, err
	}
	o.Store = store
	return o, nil
}
