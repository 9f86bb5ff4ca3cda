// Helpers of model entries: checks that the data suit a model, and shared spec parameters.

#include "train/models/entry_helpers.hpp"
#include "base/error.hpp"

namespace dbench::train {
namespace {

[[noreturn]] void refuse(const char* model, const std::string& reason, const std::string& remedy) {
    throw base::UserError("/model: " + std::string(model) + " does not suit the data (" + reason +
                          "): " + remedy);
}

std::string text(const std::vector<int64_t>& shape) {
    std::string out;
    for (const int64_t size : shape) {
        if (!out.empty()) out += "x";
        out += std::to_string(size);
    }
    return out;
}

bool has_pairs(const ModelContext& context) {
    return context.tokens && context.input_shape.size() == 2;
}

}  // namespace

int64_t input_features(const ModelContext& context) {
    int64_t features = 1;
    for (const int64_t size : context.input_shape) features *= size;
    return features;
}

void require_tokens(const char* model, const ModelContext& context) {
    if (has_pairs(context)) {
        refuse(model, "it reads one text, but the inputs are pairs of sentences",
               "use the model transformer, or data with texts, such as wikitext2 or text");
    }
    if (context.tokens) return;
    refuse(model, "it reads texts, but the inputs are not tokens",
           "use data with texts, such as wikitext2 or text, or the model mlp or cnn");
}

void require_pairs(const char* model, const ModelContext& context) {
    if (has_pairs(context)) return;
    refuse(model, "it translates, but the inputs are not pairs of sentences",
           "use data with such pairs, multi30k, or another model");
}

void require_heads(int64_t heads, int64_t width) {
    if (width % heads == 0) return;
    throw base::UserError("/model/heads: " + std::to_string(heads) +
                          " heads cannot divide a /model/width of " + std::to_string(width) +
                          " evenly: choose a divisor of the width");
}

base::Parameter dropout_parameter(const char* standard) {
    return base::Parameter::number("dropout", standard,
                                   "probability that an element is set to zero in training")
        .at_least(0)
        .at_most(0.999);
}

const base::Section<ResidualSpec>& ResidualSpec::section() {
    static const base::Section<ResidualSpec> keys{
        {base::Parameter::flag(
             "zero_init", "false",
             "the last BatchNorm of each block starts with weight zero, else one"),
         &ResidualSpec::zero_init},
    };
    return keys;
}

void require_classes(const char* model, const ModelContext& context) {
    if (context.tokens) {
        refuse(
            model, "it reads numbers, but the inputs are tokens",
            "use the model lstm or gpt (transformer for pairs of sentences), or data with images, "
            "such as shapes");
    }
    if (context.classes >= 1) return;
    refuse(model, "it predicts classes, but the targets are real numbers",
           "use the model least_squares, or data with classes, such as shapes");
}

void require_targets(const char* model, const ModelContext& context) {
    if (context.classes == 0) return;
    refuse(model,
           "it predicts real numbers, but the targets are " + std::to_string(context.classes) +
               " classes",
           "use the data set regression, or a model for classes, such as softmax_regression");
}

void require_images(const char* model, const ModelContext& context, int64_t least) {
    const auto& shape = context.input_shape;
    if (shape.size() != 3) {
        refuse(model,
               "it reads images of channels x height x width, but one input is " + text(shape) +
                   (shape.size() == 1 ? " numbers" : ""),
               "use the model mlp or softmax_regression, or image data, such as shapes");
    }
    if (shape[1] < least || shape[2] < least) {
        refuse(model,
               "it reads images of at least " + std::to_string(least) + "x" +
                   std::to_string(least) + " pixels, but one input is " + text(shape),
               "use the model mlp or softmax_regression, or larger images");
    }
}

}  // namespace dbench::train
