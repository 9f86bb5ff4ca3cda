#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "train/models/zoo.hpp"

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
        refuse(model, "it reads one text, and the inputs are pairs of sentences",
               "take the model transformer, or data of texts, such as wikitext2 or text");
    }
    if (context.tokens) return;
    refuse(model, "it takes texts, and the inputs are no tokens",
           "take data of texts, such as wikitext2 or text, or the model mlp or cnn");
}

void require_pairs(const char* model, const ModelContext& context) {
    if (has_pairs(context)) return;
    refuse(model, "it translates, and the inputs are no pairs of sentences",
           "take data of such pairs, multi30k, or another model");
}

void require_heads(int64_t heads, int64_t width) {
    if (width % heads == 0) return;
    throw base::UserError("/model/heads: " + std::to_string(heads) +
                          " heads cannot share a /model/width of " + std::to_string(width) +
                          " evenly: choose a divisor");
}

base::Parameter dropout_parameter(const char* standard) {
    return base::Parameter::number("dropout", standard, "probability of a zero, in training")
        .at_least(0)
        .at_most(0.999);
}

base::Parameter zero_init_parameter() {
    return base::Parameter::flag("zero_init", "false",
                                 "the last BatchNorm of each block starts at zero, else at one");
}

double last_scale(const base::Json& spec) { return spec.at("zero_init").get<bool>() ? 0 : 1; }

void require_classes(const char* model, const ModelContext& context) {
    if (context.tokens) {
        refuse(
            model, "it takes numbers, and the inputs are tokens",
            "take the model lstm or gpt (transformer for pairs of sentences), or data of images, "
            "such as shapes");
    }
    if (context.classes >= 1) return;
    refuse(model, "it predicts classes, and the targets are real numbers",
           "take the model least_squares, or data with classes, such as shapes");
}

void require_targets(const char* model, const ModelContext& context) {
    if (context.classes == 0) return;
    refuse(model,
           "it predicts real numbers, and the targets are " + std::to_string(context.classes) +
               " classes",
           "take the data set regression, or a model for classes, such as softmax_regression");
}

void require_images(const char* model, const ModelContext& context, int64_t least) {
    const auto& shape = context.input_shape;
    if (shape.size() != 3) {
        refuse(model,
               "it takes images of channels x height x width, and one input is " + text(shape) +
                   (shape.size() == 1 ? " numbers" : ""),
               "take the model mlp or softmax_regression, or image data, such as shapes");
    }
    if (shape[1] < least || shape[2] < least) {
        refuse(model,
               "it takes images of at least " + std::to_string(least) + "x" +
                   std::to_string(least) + " pixels, and one input is " + text(shape),
               "take the model mlp or softmax_regression, or larger images");
    }
}

}  // namespace dbench::train
