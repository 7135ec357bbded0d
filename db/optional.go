package db

// Int is the value of an optional column as an int.
func Int[T int16 | int32](v *T) *int {
	if v == nil {
		return nil
	}
	n := int(*v)
	return &n
}

// Int32 is an optional int as the value of a column. Its range was checked.
func Int32(v *int) *int32 {
	if v == nil {
		return nil
	}
	n := int32(*v) //nolint:gosec // the caller checked it
	return &n
}
