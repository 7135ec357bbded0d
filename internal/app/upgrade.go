package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/upgrade"
)

// CheckUpgrade says what a start of this version would do to the database that the configuration
// names, whether servers use it or not. It changes nothing in it.
func CheckUpgrade(ctx context.Context, cfg Config, log *slog.Logger) (u upgrade.Upgrade, err error) {
	url := cfg.DatabaseURL
	if url == "" {
		if err := requireDatabase(cfg.DataDir); err != nil {
			return u, err
		}
		embedded, err := db.StartEmbedded(ctx, cfg.DataDir, log)
		if err != nil {
			return u, err
		}
		defer func() {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout) // ctx may have ended
			defer cancel()
			err = errors.Join(err, embedded.Stop(limited))
		}()
		url = embedded.URL()
	}
	return upgrade.Check(ctx, url)
}
