#pragma once  // Private to train/models.
// Helpers of the entries in the model table. The factory of an entry gets the keys of /model as a
// struct. It throws UserError if the data do not suit the model; the require_... functions do that.

#include <memory>

#include "train/models/model.hpp"

namespace dbench::train {

using ModelPtr = std::unique_ptr<Model>;

/// Returns the number of elements of one input.
int64_t input_features(const ModelContext& context);

/// Throw UserError unless the data have classes, real targets, or images (C, H, W) of at least
/// `least` pixels per side.
void require_classes(const char* model, const ModelContext& context);
void require_targets(const char* model, const ModelContext& context);
void require_images(const char* model, const ModelContext& context, int64_t least);
/// Throw UserError unless the inputs are tokens of a text, or pairs of sentences, respectively. The
/// functions above throw if the inputs are tokens.
void require_tokens(const char* model, const ModelContext& context);
void require_pairs(const char* model, const ModelContext& context);
/// Throws UserError unless `heads` divides `width`.
void require_heads(int64_t heads, int64_t width);

/// Returns the spec parameter `dropout`.
base::Parameter dropout_parameter(const char* standard);
/// The key `zero_init` of models with residual blocks.
struct ResidualSpec {
    bool zero_init;

    /// Returns the initial weight of the last BatchNorm of each block.
    double last_norm_weight() const { return zero_init ? 0 : 1; }

    static const base::Section<ResidualSpec>& section();
};

}  // namespace dbench::train
