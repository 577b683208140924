// RUN: dist-opt %s --split-input-file --verify-diagnostics | FileCheck %s

dist.mesh @m ["dp" = 2, "tp" = 4]
// CHECK: dist.random_streams "h.*.dropout" over "tp"
// CHECK: dist.random_streams "h.0" over "dp", "tp"(1)2 expect 1
// CHECK: dist.random_streams "other" over "dp" optional
dist.schedule @s on @m {
  dist.random_streams "h.*.dropout" over "tp"
  dist.random_streams "h.0" over "dp", "tp"(1)2 expect 1
  dist.random_streams "other" over "dp" optional
}
// CHECK-LABEL: @roundtrip
// CHECK: %first, %second, %third, %fourth = dist.random_words %{{.*}}, %{{.*}} operator 3 at(%{{.*}}, %{{.*}}) of [4, 6]
// CHECK: dist.random_words %{{.*}}, %{{.*}} operator 0 at(%{{.*}}) of [%{{.*}}] stream %{{.*}}
// CHECK: dist.random_words %{{.*}}, %{{.*}} operator 0 at(%{{.*}}) of [4] streams over "dp", "tp"(1)2
// CHECK: dist.random_words %{{.*}}, %{{.*}} operator 0 at() of []
func.func @roundtrip(%seed: i64, %step: i64, %i: index, %n: index) -> i64 {
  %a:4 = dist.random_words %seed, %step operator 3 at (%i, %i) of [4, 6]
  %b:4 = dist.random_words %seed, %step operator 0 at (%i) of [%n] stream %i
  %c:4 = dist.random_words %seed, %step operator 0 at (%i) of [4] streams over "dp", "tp"(1)2
  %d:4 = dist.random_words %seed, %step operator 0 at () of []
  return %a#0 : i64
}

// -----

func.func @sizes(%seed: i64, %i: index) {
  // expected-error@below {{has 1 indices, 2 sizes, and 0 of these that are not known; each index is to have a size}}
  %a:4 = dist.random_words %seed, %seed operator 3 at (%i) of [4, 6]
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @both(%seed: i64, %i: index) {
  // expected-error@below {{has streams over axes and the number of a stream}}
  %a:4 = dist.random_words %seed, %seed operator 3 at (%i) of [4] stream %i streams over "tp"
  return
}

// -----

dist.mesh @m ["tp" = 4]
func.func @axis(%seed: i64, %i: index) {
  // expected-error@below {{axis "dp" is not in mesh @m ["tp" = 4]}}
  %a:4 = dist.random_words %seed, %seed operator 3 at (%i) of [4] streams over "dp"
  return
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{axis "dp" is not in mesh @m ["tp" = 4]}}
  dist.random_streams "h" over "dp"
}

// -----

dist.mesh @m ["tp" = 4]
dist.schedule @s on @m {
  // expected-error@below {{is 'optional', so that it may match nothing, and expects 2 places: leave out one of the two}}
  dist.random_streams "h" over "tp" optional expect 2
}

// -----

// expected-error@below {{'dist.random_streams' has {axes = [...], number = ..., sharding = ..., sizes = array<...>} for operators, on a mesh}}
dist.mesh @m ["tp" = 4] {dist.random_streams = [1]}
