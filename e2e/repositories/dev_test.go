package repositories

import (
	"os"
	"time"
)

func init() {
	if os.Getenv("QUICK") != "" {
		patience = 6 * time.Second
	}
}
