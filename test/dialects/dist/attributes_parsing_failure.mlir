// What is no attribute of the dialect is told where and what would be.
// RUN: dist-opt %s --split-input-file --verify-diagnostics

// expected-error@below {{'?' must be the last entry of a dimension}}
func.func private @f() attributes {a = #dist.dim<{?, "tp"}>}

// -----

// expected-error@below {{sub-axis "tp"(0)2 must have a positive number in parentheses and a size of at least 2}}
func.func private @f() attributes {a = #dist.axis<"tp"(0)2>}

// -----

// expected-error@below {{sub-axis "tp"(1)1 must have}}
func.func private @f() attributes {a = #dist.axis<"tp"(1)1>}

// -----

// expected-error@below {{groups 0 must be positive}}
func.func private @f() attributes {a = #dist.dim<{"tp"} groups 0>}

// -----

// expected-error@below {{sub-dimension size -1 must be positive}}
func.func private @f() attributes {a = #dist.dim<-1:{} * {"tp"}>}

// -----

// expected-error@below {{'avg' is no reduction; one of sum, prod, max, min, and, or is}}
func.func private @f() attributes {a = #dist.sharding<@m, [{}], partial = avg {"tp"}>}

// -----

// expected-error@below {{partial needs at least one axis}}
func.func private @f() attributes {a = #dist.sharding<@m, [{}], partial = sum {}>}

// -----

// expected-error@below {{expected the name of an axis in quotes, "tp"}}
func.func private @f() attributes {a = #dist.sharding<@m, [{tp}]>}

// -----

// expected-error@below {{expected the name of an axis in quotes, such as "tp"}}
func.func private @f() attributes {a = #dist.sharding<@m, [{3}]>}
