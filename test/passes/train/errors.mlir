// RUN: not dist-opt %s "--dist-train-step=optimizer=lion" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not dist-opt %s "--dist-train-step=optimizer=adam,momentum=0.9" 2>&1 | FileCheck %s --check-prefix=SETTING
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,lr=x" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,lr=" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,masters,clip" 2>&1 | FileCheck %s --check-prefix=BARE
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,betas=0.9:1" 2>&1 | FileCheck %s --check-prefix=BETAS
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,betas=0.9" 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,betas" 2>&1 | FileCheck %s --check-prefix=BARE-BETAS
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,betas=0.9:0.99:1" 2>&1 | FileCheck %s --check-prefix=THREE
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,lr=1,lr=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,schedule=cosine,warmup=5,steps=5" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not dist-opt %s "--dist-train-step=optimizer=adamw,steps=5" 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not dist-opt %s "--dist-train-step=optimizer=sgd,nesterov" 2>&1 | FileCheck %s --check-prefix=NESTEROV
// RUN: not dist-opt %s "--dist-train-step=loss=hinge" 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not dist-opt %s "--dist-train-step=loss=result" 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not dist-opt %s "--dist-train-step=of=z" 2>&1 | FileCheck %s --check-prefix=OF
// RUN: not dist-opt %s "--dist-train-step=target=x" 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not dist-opt %s "--dist-train-step=optimizer=sgd,clip=1 parameters=unused" 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not dist-opt %s "--dist-train-step=parameters=x" 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not dist-opt %s "--dist-train-step=optimizer=adam,zero=dp" 2>&1 | FileCheck %s --check-prefix=ZERO

// ZERO: error: zero=dp of the optimizer: no mesh has such an axis; a schedule brings a mesh
// KIND: error: optimizer=lion: 'lion' is no optimizer: sgd, adam or adamw
// SETTING: error: optimizer=adam,momentum=0.9: 'momentum=0.9' is no setting of it: lr, weight_decay, betas=0.9:0.999, eps, clip, masters, zero=AXIS, schedule, warmup, steps, min_lr
// EMPTY: lr=: expected a number of at least 0{{$}}
// BARE: clip=: expected a number of at least 0{{$}}
// NUMBER: lr=x: expected a number of at least 0
// BETA: error: optimizer=adamw,betas=0.9: betas=0.9: expected two numbers, as in betas=0.9:0.999
// BARE-BETAS: error: optimizer=adamw,betas: betas: expected two numbers, as in betas=0.9:0.999
// THREE: betas=0.9:0.99:1: expected two numbers, as in betas=0.9:0.999
// BETAS: betas, the second=1: expected a number of at least 0{{.*}} and less than 1
// TWICE: lr is given twice
// SCHEDULE: the schedule falls from step 5 (warmup) to step 5 (steps): steps must be more
// STEPS: steps and min_lr are of schedule=linear and schedule=cosine
// NESTEROV: nesterov needs a momentum
// LOSS: error: loss=hinge (dist-run: --loss): expected cross_entropy, mse or result
// RESULT: error: loss=result (dist-run: --loss): the result is of type 'tensor<6x8xf32>', and a loss is one number
// OF: error: of=z (dist-run: --loss-of) is no result; did you mean 'y'?
// TARGET: error: has an argument 'x' already, which a step of training adds (target=NAME, dist-run: --target, renames that of the loss)
// UNUSED: error: has a loss that depends on no parameter that is trained
// INPUT: error: parameters= (dist-run: --train-parameters) x matches no parameter of floats

func.func @main(%x: tensor<6x4xf32> {dist.input = "x"},
                %w: tensor<4x8xf32> {dist.parameter = "w"},
                %u: tensor<3xf32> {dist.parameter = "unused"}) -> (tensor<6x8xf32> {dist.output = "y"}) {
  %0 = tensor.empty() : tensor<6x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
