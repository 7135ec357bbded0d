package app

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/fleetboard/fleetboard/handlers/keda/externalscaler"
)

// KEDA is answered where an address is configured, and to whoever has a token.
func TestKEDAHasAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	if a := started(t, nil); a.keda != nil {
		t.Errorf("without the variable it listens on %v", a.keda.Addr())
	}
	a := started(t, map[string]string{"FLEETBOARD_KEDA_LISTEN": "127.0.0.1:0"})
	connection, err := grpc.NewClient(a.keda.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	ref := &externalscaler.ScaledObjectRef{ScalerMetadata: map[string]string{"pool": "gpu", "token": "fbp_nobody"}}
	if _, err := externalscaler.NewExternalScalerClient(connection).IsActive(t.Context(), ref); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a token that nobody has is answered with %v", err)
	}
}
