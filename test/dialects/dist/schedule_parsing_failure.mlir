// What is no directive is told where and what would be.
// RUN: dist-opt %s --split-input-file --verify-diagnostics

dist.schedule @s on @m {
  // expected-error@below {{'kolumn' must be 'column', 'row', 'heads', 'experts', 'input' or 'output'}}
  dist.shard "fc" kolumn over "tp"
}

// -----

dist.schedule @s on @m {
  // expected-error@below {{expected a name in quotes, "weight"}}
  dist.shard weight "fc" [{"tp"}]
}

// -----

dist.schedule @s on @m {
  // expected-error@below {{'before' is none of fwd_pre, fwd_post, bwd_post}}
  dist.sync "fc" before all_reduce over "tp"
}

// -----

dist.schedule @s on @m {
  // expected-error@below {{'gather' is none of all_gather, reduce_scatter, all_reduce, scatter, all_to_all}}
  dist.sync "fc" fwd_pre gather dim 1 over "tp"
}

// -----

dist.schedule @s on @m {
  // expected-error@below {{either each entry names its dimension or none does}}
  dist.shard parameter "w" [{"tp"}, 1 = {}]
}

// -----

dist.schedule @s on @m {
  // expected-error@below {{name "a" is given twice}}
  dist.include "f.mlir" where {a = "1", a = "2"}
}

// -----

dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{custom op 'dist.shrad' is unknown; did you mean 'dist.shard'?}}
  dist.shrad "a" column over "tp"
}

// -----

dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{has no table "a": known are gpipe, 1f1b, interleaved, zb_h1, zb_v}}
  dist.pipeline "a" over "pp"
}

// -----

dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{"interleaved" wants at least 2 chunks, as in 'chunks 2'}}
  dist.pipeline "interleaved" over "pp"
}

// -----

dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{"zb_v" has no chunks but its two: "interleaved" has}}
  dist.pipeline "zb_v" over "pp" chunks 2
}

// -----

dist.mesh @m ["pp" = 2, "tp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{is over one axis of the mesh, which it has whole}}
  dist.pipeline "1f1b" over "pp", "tp"
}

// -----

dist.mesh @m ["pp" = 2]
dist.schedule @s on @m {
  // expected-error@below {{sizes has 0: a stage has at least one module}}
  dist.stages "h.*" sizes [0, 3]
}

// -----

// expected-error@below {{custom op 'dist.something_else' is unknown}}
dist.something_else
