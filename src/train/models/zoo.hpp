#pragma once
// What the rows of the model table share. A row's constructor gets the resolved /model object and
// throws UserError where the data do not suit the model.

#include <memory>

#include "train/models/model.hpp"

namespace dbench::train {

using MadeModel = std::unique_ptr<Model>;

/// Elements of one input, logical order.
int64_t input_features(const ModelContext& context);

/// Throw UserError unless the data have classes, real targets, or images (C, H, W) of at least
/// `least` pixels a side.
void require_classes(const char* model, const ModelContext& context);
void require_targets(const char* model, const ModelContext& context);
void require_images(const char* model, const ModelContext& context, int64_t least);
/// Throw UserError unless inputs are a text's tokens, or pairs of sentences; the others throw where
/// they are.
void require_tokens(const char* model, const ModelContext& context);
void require_pairs(const char* model, const ModelContext& context);
/// Throws UserError unless so many heads can share a width evenly.
void require_heads(int64_t heads, int64_t width);

/// The parameter `dropout`.
base::Parameter dropout_parameter(const char* standard);
/// The parameter `zero_init` of models with residual blocks, and the initial weight of the last
/// BatchNorm of each block that it stands for.
base::Parameter zero_init_parameter();
double last_scale(const base::Json& spec);

}  // namespace dbench::train
