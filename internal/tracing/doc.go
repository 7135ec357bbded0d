// Package tracing says by OpenTelemetry where the time of a job went: from the request that made it over
// the claim to the attempt of a worker and into its engine, in one trace that is named by the job alone.
// Without the usual OTEL_EXPORTER_OTLP_ENDPOINT nothing is recorded, and each call returns at once.
//
// Names are those of the semantic conventions of version 1.41.0, and attempt, clone, check and push
// beside them. Attributes hold ids, kinds and numbers: no text of people or agents, and no secret.
package tracing
