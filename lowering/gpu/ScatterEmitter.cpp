//===- ScatterEmitter.cpp - Writes a scatter as a kernel of a GPU ---------===//

#include "lowering/gpu/ScatterEmitter.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "lowering/gpu/Launch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

/// A buffer of the scatter, and what the kernel knows it by.
struct Operand {
  FlatBuffer flat;
  ArrayRef<int64_t> shape;
  Value memory, start;
};

class ScatterEmitter {
public:
  ScatterEmitter(OpBuilder &builder, rt::ScatterOp op)
      : builder(builder), op(op), loc(op.getLoc()) {}

  FailureOr<Kernel> emit(StringRef name, const BufferAliases &aliases);

private:
  /// The column of one slice, in the thread that has it.
  void emitColumn(Value place, Value column);
  Value emitSum(Value place, Value row, Value to, ArrayRef<Value> column);
  Value loadKey(Value place);
  Value getRow(Value key) { return toIndex(divide(key)); }
  Value fromSlice(Value key, ArrayRef<Value> column);
  Value address(const Operand &operand, ArrayRef<Value> indices);

  SmallVector<Value> split(Value number, ArrayRef<int64_t> sizes) {
    return delinearize(builder, loc, number, sizes);
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value multiply(Value a, int64_t b) {
    return arith::MulIOp::create(builder, loc, a, constant(b));
  }
  Value compare(arith::CmpIPredicate how, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, how, a, b);
  }
  Value bits(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  }
  Value divide(Value key) {
    return arith::ShRUIOp::create(builder, loc, key,
                                  bits(llvm::Log2_64(keys.shape.front())));
  }
  Value toIndex(Value number) {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        number);
  }

  OpBuilder &builder;
  rt::ScatterOp op;
  Location loc;
  Operand source, keys, dest;
  /// Sizes of the batch, of a slice, and of the dimensions that rows number.
  SmallVector<int64_t> batch, slice, rows;
  int64_t slices = 1, columns = 1;
};

} // namespace

Value ScatterEmitter::address(const Operand &operand, ArrayRef<Value> indices) {
  Value sum = operand.start;
  for (auto [index, stride] : llvm::zip_equal(indices, operand.flat.strides))
    sum = add(sum, multiply(index, stride));
  return sum;
}

Value ScatterEmitter::loadKey(Value place) {
  return memref::LoadOp::create(builder, loc, keys.memory,
                                address(keys, place));
}

/// The element of the slice that the key names.
Value ScatterEmitter::fromSlice(Value key, ArrayRef<Value> column) {
  Value number = toIndex(
      arith::AndIOp::create(builder, loc, key, bits(keys.shape.front() - 1)));
  SmallVector<Value> indices = split(number, batch);
  llvm::append_range(indices, column);
  return memref::LoadOp::create(builder, loc, source.memory,
                                address(source, indices));
}

/// What is at `to`, and all slices of the row from `place` on.
Value ScatterEmitter::emitSum(Value place, Value row, Value to,
                              ArrayRef<Value> column) {
  Value before = memref::LoadOp::create(builder, loc, dest.memory, to);
  Value last = constant(slices - 1);
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{builder.getIndexType(), before.getType()},
      ValueRange{place, before},
      [&](OpBuilder &, Location, ValueRange carried) {
        Value inside = compare(arith::CmpIPredicate::ule, carried[0], last);
        Value there = arith::MinUIOp::create(builder, loc, carried[0], last);
        Value same =
            compare(arith::CmpIPredicate::eq, getRow(loadKey(there)), row);
        scf::ConditionOp::create(
            builder, loc, arith::AndIOp::create(builder, loc, inside, same),
            carried);
      },
      [&](OpBuilder &, Location, ValueRange carried) {
        Value term = fromSlice(loadKey(carried[0]), column);
        Value sum = term.getType().isInteger(1)
                        ? arith::OrIOp::create(builder, loc, term, carried[1])
                              .getResult() // as linalg.add
                        : createSum(builder, loc, term, carried[1]);
        scf::YieldOp::create(builder, loc,
                             ValueRange{add(carried[0], constant(1)), sum});
      });
  return loop.getResult(1);
}

void ScatterEmitter::emitColumn(Value place, Value column) {
  Value key = loadKey(place), row = getRow(key);
  // A row's slices are neighbours. The first adds all, or the last is written.
  Value edge = constant(op.getAdd() ? 0 : slices - 1);
  Value isEdge = compare(arith::CmpIPredicate::eq, place, edge);
  Value next = arith::SelectOp::create(
      builder, loc, isEdge, place, add(place, constant(op.getAdd() ? -1 : 1)));
  Value isOther = compare(arith::CmpIPredicate::ne, getRow(loadKey(next)), row);
  Value writes = arith::OrIOp::create(builder, loc, isEdge, isOther);
  auto branch = scf::IfOp::create(builder, loc, writes);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> inSlice = split(column, slice), inRows = split(row, rows);
  SmallVector<Value> indices(dest.shape.size());
  for (auto [dim, index] : llvm::zip_equal(op.getSliceDims(), inSlice))
    indices[dim] = index;
  for (auto [dim, index] : llvm::zip_equal(op.getDims(), inRows))
    indices[dim] = index;
  Value to = address(dest, indices);
  Value value =
      op.getAdd() ? emitSum(place, row, to, inSlice) : fromSlice(key, inSlice);
  memref::StoreOp::create(builder, loc, value, dest.memory, to);
}

FailureOr<Kernel> ScatterEmitter::emit(StringRef name,
                                       const BufferAliases &aliases) {
  Kernel kernel;
  llvm::SetVector<Value> roots, views;
  Operand *operands[] = {&source, &keys, &dest};
  for (auto [operand, value] : llvm::zip_equal(operands, op->getOperands())) {
    FailureOr<FlatBuffer> flat = flatten(value, op, &aliases);
    if (failed(flat))
      return failure();
    operand->flat = *flat;
    operand->shape = cast<MemRefType>(value.getType()).getShape();
    roots.insert(flat->root);
    if (flat->dynamicOffset)
      views.insert(flat->dynamicOffset);
  }
  llvm::append_range(batch, source.shape.take_front(op.getBatch()));
  llvm::append_range(slice, source.shape.drop_front(op.getBatch()));
  for (int64_t dim : op.getDims())
    rows.push_back(dest.shape[dim]);
  for (int64_t size : batch)
    slices *= size;
  for (int64_t size : slice)
    columns *= size;

  SmallVector<Type> types;
  for (Value root : roots) {
    auto type = cast<MemRefType>(root.getType());
    types.push_back(
        MemRefType::get({type.getNumElements()}, type.getElementType()));
  }
  types.append(views.size(), builder.getIndexType());
  OpBuilder::InsertionGuard guard(builder);
  auto function = func::FuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  updateArgAttrs(function, [&](unsigned i, NamedAttrList &list) {
    if (i < roots.size() && roots[i] != dest.flat.root)
      list.set(LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
    bool isApart =
        !mayAlias(source.flat, dest.flat) && !mayAlias(keys.flat, dest.flat);
    if (i < roots.size() && isApart)
      list.set(LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  });
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Operation *end = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  auto argumentOf = [&](const llvm::SetVector<Value> &values, Value value,
                        size_t first) {
    return entry->getArgument(first +
                              (llvm::find(values, value) - values.begin()));
  };
  for (Operand *operand : operands) {
    const FlatBuffer &flat = operand->flat;
    operand->memory = argumentOf(roots, flat.root, 0);
    operand->start = flat.dynamicOffset
                         ? argumentOf(views, flat.dynamicOffset, roots.size())
                         : constant(flat.offset);
  }

  // Neighbours have neighbouring columns.
  int64_t count = slices * columns;
  int64_t blocks =
      std::min(llvm::divideCeil(count, kThreads), uint64_t(kMostBlocks));
  Type i32 = builder.getI32Type();
  Value first = add(
      multiply(toIndex(NVVM::BlockIdXOp::create(builder, loc, i32)), kThreads),
      toIndex(NVVM::ThreadIdXOp::create(builder, loc, i32)));
  auto loop = scf::ForOp::create(builder, loc, first, constant(count),
                                 constant(blocks * kThreads));
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> cell = split(loop.getInductionVar(), {slices, columns});
  emitColumn(cell[0], cell[1]);
  function->setAttr(kBlocksAttr, builder.getI64IntegerAttr(blocks));
  kernel.function = function;
  kernel.roots = roots.takeVector();
  kernel.views = views.takeVector();
  return kernel;
}

FailureOr<Kernel> mlir::dist::emitGpuScatter(OpBuilder &builder, StringRef name,
                                             rt::ScatterOp scatter,
                                             const BufferAliases &aliases) {
  return ScatterEmitter(builder, scatter).emit(name, aliases);
}
