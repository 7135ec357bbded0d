package metrics

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Area is a part of the server that answers requests.
type Area int

// The areas. Claims, heartbeats and streams are apart since the first wait, the second are most of
// all requests and the third last. Monitors ask whether the server is well.
const (
	Pages Area = iota
	API
	Claim
	Heartbeat
	Stream
	Static
	Monitor
	areas
)

var areaNames = [areas]string{"pages", "api", "claim", "heartbeat", "stream", "static", "monitor"}

const (
	lowestStatus  = 100
	highestStatus = 599
)

// Requests and streams.
var (
	requests = declare(prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "requests_total",
		Help: "Requests that this server has answered, by area and HTTP status."}, []string{"area", "code"}))
	requestTimes = declare(prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "request_duration_seconds",
		Help:    "Time of requests at this server, by area; claims, which wait, streams and monitors have none.",
		Buckets: quick}, []string{"area"}))
	requestTime = [areas]prometheus.Observer{Pages: requestTimes.WithLabelValues("pages"), API: requestTimes.WithLabelValues("api"),
		Heartbeat: requestTimes.WithLabelValues("heartbeat"), Static: requestTimes.WithLabelValues("static")}

	// byStatus are the counters of requests, found without a lock after the first request of each.
	byStatus [areas][highestStatus - lowestStatus + 1]atomic.Pointer[prometheus.Counter]

	streams = declare(prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "streams",
		Help: "Streams that are open at this server: of pages, and of the API."}, []string{"kind"}))
	PageStreams    = streams.WithLabelValues("pages")
	APIStreams     = streams.WithLabelValues("api")
	StreamsRefused = counter("streams_refused_total", "Streams that this server refused since too many were open.")
)

// CountRequest counts an answer with that status.
func CountRequest(area Area, status int, took time.Duration) {
	status = min(max(status, lowestStatus), highestStatus)
	at := &byStatus[area][status-lowestStatus]
	c := at.Load()
	if c == nil {
		made := requests.WithLabelValues(areaNames[area], strconv.Itoa(status))
		c = &made
		at.Store(c)
	}
	(*c).Inc()
	if o := requestTime[area]; o != nil {
		o.Observe(took.Seconds())
	}
}
