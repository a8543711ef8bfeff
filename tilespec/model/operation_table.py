"""The rows of the operation registry: `name aliases ; ATen patterns ; formula`.

`/` parts alternative patterns, `&` parts entries that all have to be there, `|` parts alternatives for one entry.
"""

from __future__ import annotations

__all__ = ["TABLE"]

TABLE = """
# products
matmul mm gemm dot_product matrix_multiply batched_matmul bmm matvec mv outer einsum ; mm|bmm|addmm|mv|dot|baddbmm|linear|matmul / mul&sum ; a @ b
linear fully_connected projection dense proj ; mm|bmm|addmm|mv|dot|baddbmm|linear|matmul ; x @ weight.T + bias
bias_add add_bias bias ; add|addmm|convolution|linear|baddbmm ; x + bias
conv1d convolution1d ; convolution ; F.conv1d(x, weight, bias)
conv2d conv convolution depthwise_conv2d pointwise_conv2d grouped_conv2d depthwise_conv convolution2d conv3x3 conv1x1 ; convolution ; F.conv2d(x, weight, bias)
conv3d convolution3d ; convolution ; F.conv3d(x, weight, bias)
conv_transpose1d convtranspose1d transposed_conv1d ; convolution ; F.conv_transpose1d(x, weight, bias)
conv_transpose2d convtranspose2d transposed_conv2d transposed_conv deconvolution ; convolution ; F.conv_transpose2d(x, weight, bias)
conv_transpose3d convtranspose3d transposed_conv3d ; convolution ; F.conv_transpose3d(x, weight, bias)
attention sdpa scaled_dot_product_attention flash_attention self_attention multi_head_attention ; scaled_dot_product_attention|_scaled_dot_product_flash_attention_for_cpu / mm|bmm|matmul & _softmax|exp / mm|bmm|matmul & _safe_softmax ; softmax(q @ k.T * scale) @ v

# arithmetic
add sum_elementwise residual_add elementwise_add residual add_residual plus addition ; add|addmm|baddbmm ; a + b
sub subtract minus subtraction ; sub|rsub|add ; a - b
mul multiply elementwise_mul product gate elementwise_multiply hadamard times multiplication gating ; mul|addcmul ; a * b
div divide division ; div|mul|reciprocal ; a / b
scale scaling scale_add scalar_mul ; mul|div|addmm|baddbmm ; x * scale
neg negate negative ; neg|mul|rsub|sub ; -x
abs absolute ; abs|maximum|where ; x.abs()
pow power ; pow|mul ; x ** p
square squared ; pow|mul ; x ** 2
sqrt square_root ; sqrt|pow ; x.sqrt()
rsqrt inverse_sqrt ; rsqrt|sqrt|pow ; x.rsqrt()
reciprocal inverse ; reciprocal|div|pow ; 1 / x
exp exponential ; exp|exp2 ; x.exp()
exp2 ; exp2|exp|pow ; torch.exp2(x)
expm1 ; expm1|exp ; torch.expm1(x)
log ln logarithm ; log|log2|log10 ; x.log()
log2 ; log2|log ; x.log2()
log10 ; log10|log ; x.log10()
log1p ; log1p|log ; x.log1p()
sin sine ; sin ; x.sin()
cos cosine ; cos ; x.cos()
tan ; tan / sin&cos ; x.tan()
asin ; asin ; x.asin()
acos ; acos ; x.acos()
atan ; atan ; x.atan()
atan2 ; atan2 ; torch.atan2(y, x)
sinh ; sinh|exp ; x.sinh()
cosh ; cosh|exp ; x.cosh()
erf ; erf ; x.erf()
floor ; floor ; x.floor()
ceil ; ceil ; x.ceil()
round ; round ; x.round()
trunc ; trunc ; x.trunc()
sign sgn ; sign|where ; x.sign()
fmod remainder mod modulo ; fmod|remainder ; a % b
floor_divide ; floor_divide|div|floor ; a // b
maximum elementwise_max ; maximum|where|clamp|clamp_min|relu ; torch.maximum(a, b)
minimum elementwise_min ; minimum|where|clamp|clamp_max ; torch.minimum(a, b)
clamp clip clamp_min clamp_max ; clamp|clamp_min|clamp_max|hardtanh|relu|where / minimum&maximum ; x.clamp(low, high)
lerp interpolate_linear ; lerp / mul&add / where ; a + w * (b - a)
addcmul fma multiply_add mul_add ; addcmul / mul&add / addmm ; a + b * c
where select_where masked_fill mask masking causal_mask apply_mask masked_select_where ; where|masked_fill|mul|add|tril|triu|bitwise_and|logical_and ; torch.where(m, a, b)
compare comparison eq ne lt le gt ge equal greater less ; eq|ne|lt|le|gt|ge ; a < b
logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor ; logical_and|logical_or|logical_not|logical_xor|bitwise_and|bitwise_or|bitwise_not|bitwise_xor|eq|ne ; a & b
cast to dtype_cast convert type_cast ; _to_copy|convert_element_type|to|clone ; x.float()
dropout ; native_dropout|bernoulli|rand|rand_like ; F.dropout(x, p)

# activations
relu rectify ; relu|clamp|clamp_min|maximum|where|threshold ; F.relu(x)
relu6 ; hardtanh|clamp|relu6|minimum|clamp_min ; F.relu6(x)
leaky_relu leakyrelu ; leaky_relu|where|mul ; F.leaky_relu(x, slope)
prelu ; prelu|_prelu_kernel|where ; F.prelu(x, weight)
elu ; elu|expm1|exp ; F.elu(x)
celu ; celu|elu|expm1|exp ; F.celu(x)
selu ; selu|elu|expm1|exp ; F.selu(x)
gelu gelu_erf gelu_tanh gelu_new gelu_approx quick_gelu ; gelu / erf / tanh / sigmoid&mul ; F.gelu(x)
silu swish ; silu / sigmoid&mul / exp&add ; F.silu(x)
swiglu silu_mul silu_and_mul ; silu|sigmoid|exp & mul ; F.silu(gate) * up
geglu gelu_mul gelu_and_mul ; gelu|erf|tanh & mul ; F.gelu(gate) * up
glu ; glu / sigmoid&mul ; F.glu(x)
sigmoid logistic ; sigmoid / exp&add ; x.sigmoid()
log_sigmoid logsigmoid ; log_sigmoid_forward|log_sigmoid / sigmoid&log / log1p&exp / softplus / exp&log ; F.logsigmoid(x)
hard_sigmoid hardsigmoid ; hardsigmoid|clamp|hardtanh|clamp_min|relu ; F.hardsigmoid(x)
hard_swish hardswish ; hardswish|clamp|hardtanh|clamp_min|relu ; F.hardswish(x)
hard_tanh hardtanh ; hardtanh|clamp|clamp_min ; F.hardtanh(x)
tanh ; tanh / exp / sigmoid ; x.tanh()
mish ; mish / softplus&tanh / log1p&tanh / exp&tanh ; F.mish(x)
softplus ; softplus / log1p&exp / exp&log ; F.softplus(x)
softsign ; softsign / abs&div ; F.softsign(x)
tanhshrink ; tanh&sub ; x - x.tanh()
softshrink ; softshrink|where ; F.softshrink(x)
hardshrink ; hardshrink|where ; F.hardshrink(x)
threshold ; threshold|where ; F.threshold(x, t, v)

# reductions
sum reduce_sum sum_reduction ; sum|mean ; x.sum(dim)
mean average reduce_mean global_average ; mean|sum|avg_pool1d|avg_pool2d|_adaptive_avg_pool2d|_adaptive_avg_pool3d ; x.mean(dim)
var variance ; var|var_mean / mean|sum & pow|mul ; x.var(dim)
std standard_deviation stddev ; std|sqrt|var|var_mean|pow ; x.std(dim)
max reduce_max amax row_max ; amax|max|max_pool2d_with_indices|argmax ; x.amax(dim)
min reduce_min amin row_min ; amin|min|argmin ; x.amin(dim)
argmax ; argmax|max ; x.argmax(dim)
argmin ; argmin|min ; x.argmin(dim)
prod reduce_prod ; prod ; x.prod(dim)
any ; any|sum|amax ; x.any(dim)
all ; all|any|amin|prod ; x.all(dim)
norm l2_norm vector_norm frobenius_norm l1_norm ; linalg_vector_norm|norm / pow|mul & sum|mean / abs&sum ; x.norm(dim)
logsumexp lse ; logsumexp / exp&sum&log / amax&exp ; x.logsumexp(dim)
softmax row_softmax causal_softmax masked_softmax ; _softmax|softmax|_safe_softmax / exp&sum|cumsum ; F.softmax(x, dim)
log_softmax logsoftmax ; _log_softmax|log_softmax / exp&sum&log / logsumexp / _softmax&log ; F.log_softmax(x, dim)
softmin ; _softmax&neg ; F.softmin(x, dim)
cumsum prefix_sum scan cumulative_sum inclusive_scan ; cumsum|mm|bmm ; x.cumsum(dim)
cumprod ; cumprod|cumsum ; x.cumprod(dim)
cummax ; cummax ; x.cummax(dim)
cummin ; cummin ; x.cummin(dim)
topk ; topk|sort ; x.topk(k)
sort ; sort ; x.sort(dim)

# normalisation
layer_norm layernorm layer_normalization ; native_layer_norm|layer_norm / mean|var|var_mean|sum & rsqrt|sqrt|pow|std ; F.layer_norm(x, shape, weight, bias, eps)
rms_norm rmsnorm rms_normalization ; rms_norm|_fused_rms_norm / pow|mul & mean|sum & rsqrt|sqrt|pow ; x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * weight
group_norm groupnorm ; native_group_norm|group_norm / mean|var|var_mean|sum & rsqrt|sqrt|pow ; F.group_norm(x, groups, weight, bias, eps)
instance_norm instancenorm ; instance_norm|_native_batch_norm_legit|native_batch_norm / mean|var|var_mean|sum & rsqrt|sqrt|pow ; F.instance_norm(x)
batch_norm batchnorm bn batch_norm2d batchnorm2d batch_norm_inference ; batch_norm|native_batch_norm|_native_batch_norm_legit|_native_batch_norm_legit_no_training|_native_batch_norm_legit_functional / mean|var|var_mean|sum|sub|add|mul & rsqrt|sqrt|pow|mul ; F.batch_norm(x, mean, var, weight, bias)
normalize l2_normalize ; linalg_vector_norm|norm|pow|mul & div|mul ; F.normalize(x, dim=dim)

# windows
max_pool1d maxpool1d ; max_pool2d_with_indices|max_pool1d|amax ; F.max_pool1d(x, k)
max_pool2d maxpool2d max_pool maxpool ; max_pool2d_with_indices|max_pool2d|amax ; F.max_pool2d(x, k)
max_pool3d maxpool3d ; max_pool3d_with_indices|max_pool3d|amax ; F.max_pool3d(x, k)
avg_pool1d avgpool1d ; avg_pool1d|avg_pool2d|mean ; F.avg_pool1d(x, k)
avg_pool2d avgpool2d avg_pool average_pool ; avg_pool2d|mean ; F.avg_pool2d(x, k)
avg_pool3d avgpool3d ; avg_pool3d|mean ; F.avg_pool3d(x, k)
adaptive_avg_pool2d adaptive_avg_pool global_avg_pool global_average_pool gap adaptive_avg_pool1d adaptive_avg_pool3d ; _adaptive_avg_pool2d|_adaptive_avg_pool3d|adaptive_avg_pool1d|mean|avg_pool2d|avg_pool1d ; x.mean((2, 3))
adaptive_max_pool2d global_max_pool adaptive_max_pool1d adaptive_max_pool3d ; adaptive_max_pool2d|adaptive_max_pool3d|amax|max ; x.amax((2, 3))
unfold im2col ; im2col|unfold|as_strided|index ; F.unfold(x, k)
fold col2im ; col2im|index_put ; F.fold(x, size, k)
interpolate upsample resize upsample_nearest upsample_bilinear upsample_nearest2d upsample_bilinear2d ; upsample_nearest2d|upsample_bilinear2d|upsample_nearest1d|upsample_nearest3d|_unsafe_index|index|_upsample_bilinear2d_aa ; F.interpolate(x, scale_factor=2)
pixel_shuffle ; pixel_shuffle|permute|view|clone ; F.pixel_shuffle(x, r)

# indexing and rearrangement
embedding embedding_lookup lookup ; embedding|index_select|index|gather ; F.embedding(ids, weight)
gather take take_along_dim ; gather|index|index_select|embedding ; x.gather(dim, index)
scatter scatter_add index_add scatter_reduce ; scatter|scatter_add|index_put|index_add|scatter_reduce ; x.scatter(dim, index, src)
index_select index indexing select ; index_select|index|gather|select|slice|embedding ; x[index]
one_hot onehot ; scatter|eq|one_hot|arange ; F.one_hot(x)
rope rotary rotary_embedding rotary_position_embedding apply_rope rotary_emb ; mul & add|sub|cat|addcmul ; x * cos + rotate_half(x) * sin
cat concat concatenate stack ; cat|stack ; torch.cat((a, b), dim)
split chunk slice narrow ; split|split_with_sizes|slice|chunk|select|unbind ; x.chunk(2, dim)
transpose permute rearrange swap_axes ; permute|transpose|t|view|clone ; x.transpose(a, b)
reshape view flatten unflatten squeeze unsqueeze ; view|reshape|_unsafe_view|clone|squeeze|unsqueeze|expand ; x.reshape(shape)
expand broadcast repeat repeat_interleave tile ; expand|repeat|clone|index|view ; x.expand(shape)
pad padding constant_pad ; constant_pad_nd|pad|cat|reflection_pad2d|replication_pad2d ; F.pad(x, widths)
flip reverse ; flip|index ; x.flip(dim)
roll shift ; roll|cat|index|slice ; x.roll(n, dim)
tril lower_triangular ; tril|where|ge|le|mul ; x.tril()
triu upper_triangular ; triu|where|ge|le|mul ; x.triu()
copy clone identity ; clone|copy|_to_copy|view|alias ; x.clone()
fill full zeros ones ; full|full_like|zeros|ones|empty ; torch.full(shape, value)
arange position_ids ; arange|iota ; torch.arange(n)

# losses
cross_entropy crossentropy cross_entropy_loss nll_softmax ; nll_loss_forward|cross_entropy_loss / _log_softmax|logsumexp|log_softmax / exp&sum&log ; F.cross_entropy(x, target)
nll_loss nll ; nll_loss_forward|gather|index ; F.nll_loss(x, target)
mse_loss mse mean_squared_error ; mse_loss / pow|mul & mean|sum ; F.mse_loss(a, b)
l1_loss mae ; l1_loss / abs & mean|sum ; F.l1_loss(a, b)
smooth_l1_loss huber_loss huber ; smooth_l1_loss|huber_loss|where ; F.smooth_l1_loss(a, b)
kl_div kl_divergence ; kl_div / mul|sub|log|exp & sum|mean ; F.kl_div(a, b)
bce_loss binary_cross_entropy bce ; binary_cross_entropy|log ; F.binary_cross_entropy(a, b)
bce_with_logits binary_cross_entropy_with_logits ; binary_cross_entropy_with_logits|log1p|softplus|log_sigmoid_forward ; F.binary_cross_entropy_with_logits(a, b)
hinge_loss hinge ; clamp|clamp_min|relu & mean|sum ; (1 - a * b).clamp(min=0).mean()
cosine_similarity cosine_sim ; mul&sum ; F.cosine_similarity(a, b)
triplet_margin_loss triplet_loss ; linalg_vector_norm|norm|sum|pow & sub & add & clamp|clamp_min|relu & mean|sum / linalg_vector_norm|norm|sum|pow & sub & clamp|clamp_min|relu ; F.triplet_margin_loss(a, p, n)

# quantisation
quantize quantise quant ; round|_to_copy|clamp ; (x / s).round().clamp(low, high)
dequantize dequantise dequant ; mul|_to_copy ; (q - zero) * s
"""
