package metrics

import "github.com/prometheus/client_golang/prometheus"

// namespace is how every name of ours begins.
const namespace = "fleetboard"

// declared are the figures of this process.
var declared []prometheus.Collector

// Declared returns the figures of this process.
func Declared() []prometheus.Collector { return declared }

func declare[C prometheus.Collector](c C) C {
	declared = append(declared, c)
	return c
}

func counter(name, help string) prometheus.Counter {
	return declare(prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}))
}

func gauge(name, help string) prometheus.Gauge {
	return declare(prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}))
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return declare(prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}))
}

// Counters are the counters of one name, one for each of a fixed set of words.
type Counters struct {
	byWord map[string]prometheus.Counter // never changed
	other  prometheus.Counter
}

// other is the word of what has none of its own.
const other = "other"

func counters(name, label, help string, words ...string) Counters {
	vec := declare(prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label}))
	c := Counters{byWord: map[string]prometheus.Counter{}}
	for _, w := range words {
		c.byWord[w] = vec.WithLabelValues(w)
	}
	c.other = vec.WithLabelValues(other)
	return c
}

// Of returns the counter of a word; that of "other" where it has none.
func (c Counters) Of(word string) prometheus.Counter {
	if known, ok := c.byWord[word]; ok {
		return known
	}
	return c.other
}

// Desc returns the description of a figure that is read when it is wanted.
func Desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}
