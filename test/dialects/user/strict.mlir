// RUN: %{root}/test/dialects/user/user-opt %s --dist-propagate=strict --verify-diagnostics

dist.mesh @m ["x" = 4]
func.func @without_rule(%a: tensor<8xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}) -> tensor<8xf64> {
  // expected-error @below {{'user.opaque' has no sharding rule (its dialect can implement ShardingRuleOpInterface), and replication is not allowed here}}
  %0 = user.opaque %a : tensor<8xf64> -> tensor<8xf64>
  return %0 : tensor<8xf64>
}
