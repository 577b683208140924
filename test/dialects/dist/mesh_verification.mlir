// Constraints of dist.mesh.
// RUN: dist-opt %s --split-input-file --verify-diagnostics

// C1
// expected-error@below {{has an axis without a name}}
dist.mesh @m ["" = 2]

// -----

// expected-error@below {{has two axes called "tp"}}
dist.mesh @m ["tp" = 2, "dp" = 2, "tp" = 3]

// -----

// C2
// expected-error@below {{axis "tp" has size 0; it must be at least 1}}
dist.mesh @m ["tp" = 0]

// -----

// expected-error@below {{has more devices than 63 bits count}}
dist.mesh @m ["a" = 4294967296, "b" = 4294967296]
