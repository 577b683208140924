// A family that there is not is no wish to be dropped.
// RUN: not dist-fuzz --only=transpose,fou --count 1 2>&1 | FileCheck %s
// CHECK: dist-fuzz: error: --only=transpose,fou: no family is 'fou'; there are elementwise,
