#pragma once
// LibTorch's tensors, operators and automatic differentiation. torch/torch.h also includes
// LibTorch's modules, optimizers and data loaders, which nothing here uses, and takes twice as long
// to compile.

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>
