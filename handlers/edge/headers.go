package edge

import "net/http"

// contentPolicy is for answers that are no pages: nothing in them is to be run or
// shown as one.
const contentPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"

const permissionsPolicy = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), usb=(), browsing-topics=()"

// Headers puts the security headers on every answer of next. No cache keeps an
// answer, and a browser shows none as a page; pages and files with a hash in their
// name say otherwise themselves. Secure is whether the server is reached by https.
func Headers(secure bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", permissionsPolicy)
		h.Set("Cache-Control", "no-store")
		if secure {
			h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		}
		next.ServeHTTP(w, r)
	})
}
