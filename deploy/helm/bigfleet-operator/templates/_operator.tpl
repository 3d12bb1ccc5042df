{{/* Refuses values that contradict each other, before anything is installed. */}}
{{- define "operator.check" -}}
{{- if not .Values.clusterId -}}
{{- fail "clusterId is empty: name this cluster, once and for ever" -}}
{{- end -}}
{{- if not .Values.shardAddr -}}
{{- fail "shardAddr is empty: name host:port of the shard this cluster belongs to" -}}
{{- end -}}
{{- if and (eq .Values.tls.mode "certManager") (not .Values.tls.issuer.name) -}}
{{- fail "tls.mode is certManager, but tls.issuer.name is empty: name the issuer that signs for the fleet" -}}
{{- end -}}
{{- if and .Values.bootstrap.template .Values.bootstrap.existingConfigMap -}}
{{- fail "bootstrap.template and bootstrap.existingConfigMap are both set: which one is it?" -}}
{{- end -}}
{{- if and .Values.bootstrap.mintToken (ne (include "operator.hasTemplate" .) "true") -}}
{{- fail "bootstrap.mintToken needs a template: nothing else would hold the token" -}}
{{- end -}}
{{- end -}}

{{- define "operator.hasTemplate" -}}
{{- if or .Values.bootstrap.template .Values.bootstrap.existingConfigMap -}}true{{- end -}}
{{- end -}}

{{- define "operator.secret" -}}
{{- .Values.tls.secret | default (printf "%s-tls" (include "bigfleet.fullname" .)) -}}
{{- end -}}

{{- define "operator.account" -}}
{{- .Values.serviceAccount.name | default (include "bigfleet.fullname" .) -}}
{{- end -}}
