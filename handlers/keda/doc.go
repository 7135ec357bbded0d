// Package keda answers KEDA, which scales the workers of pools on Kubernetes, as an external
// scaler over gRPC. Its interface is externalscaler, generated from KEDA's published proto.
package keda
